package otelredlock

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/codes"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

// TestEnds: each way in which a hold ends is counted, and a loss is an error.
func TestEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		act  func(*testing.T, *lab)
		loss bool
	}{
		"unlocked": {act: func(t *testing.T, l *lab) {
			l.unlock(l.lock(t.Context(), l.open(redlock.Config{}), "a"))
		}},
		"closed": {act: func(t *testing.T, l *lab) {
			c := l.open(redlock.Config{})
			l.lock(t.Context(), c, "a")
			c.Close()
		}},
		"expired": {loss: true, act: func(t *testing.T, l *lab) {
			l.lock(t.Context(), l.open(redlock.Config{}), "a")
			each(l.fleet, 0, 2, (*redlocktest.Master).Kill)
			time.Sleep(time.Minute)
		}},
		"expired as its caller waits for another name": {loss: true, act: func(t *testing.T, l *lab) {
			l.lock(t.Context(), newLab(t, l.fleet, Config{}).open(redlock.Config{}), "b")
			go l.open(redlock.Config{}).LockAll(t.Context(), []string{"a", "b"}, redlock.Lease(10*time.Second))
			time.Sleep(30 * time.Second)
			each(l.fleet, 0, 2, (*redlocktest.Master).Kill)
			time.Sleep(time.Minute)
		}},
		"lost": {loss: true, act: func(t *testing.T, l *lab) {
			c := l.open(redlock.Config{})
			l.lock(t.Context(), c, "a")
			check.OK(t, second(redlockadmin.Of(c).ForceUnlock(t.Context(), "a")))
			time.Sleep(time.Minute)
		}},
		"lease_over": {act: func(t *testing.T, l *lab) {
			check.OK(t, second(l.open(redlock.Config{}).Lock(t.Context(), "a", redlock.Lease(time.Second))))
			time.Sleep(time.Minute)
		}},
	} {
		end, _, _ := strings.Cut(name, " ")
		t.Run(name, func(t *testing.T) {
			bubble(t, Config{}, func(t *testing.T, l *lab) {
				tt.act(t, l)
				synctest.Wait()
				values := map[string]int64{
					"hold.duration{end=" + end + ",kind=lock}": 1,
					"hold.count{kind=lock}":                    0,
					"hold.losses{end=lost,kind=lock}":          0, // there from the first hold on
					"hold.losses{end=expired,kind=lock}":       0,
				}
				code, failed := codes.Unset, ""
				if tt.loss {
					values["hold.losses{end="+end+",kind=lock}"] = 1
					code, failed = codes.Error, end
				}
				l.expect("after the end", values)
				span := l.span("redlock.hold")
				if span.Status.Code != code || at(span, keyError) != failed || at(span, keyEnd) != end {
					t.Errorf("span: status %v, error.type %q, end %q", span.Status, at(span, keyError), at(span, keyEnd))
				}
			})
		})
	}
}

// TestKept: what a client keeps is counted when it takes it over, and when it gives it back.
func TestKept(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, l *lab) {
		keeper, other := l.open(redlock.Config{Keep: 10 * time.Second}), l.open(redlock.Config{})
		time.Sleep(time.Second) // it subscribes
		for range 3 {
			l.unlock(l.lock(t.Context(), keeper, "a"))
		}
		l.unlock(l.lock(t.Context(), keeper, "b"))
		l.unlock(l.lock(t.Context(), other, "a"))
		time.Sleep(time.Minute)
		l.expect("in the end", map[string]int64{
			"kept.takeovers{}": 2, "kept.duration{why=wanted}": 1, "kept.duration{why=over}": 1, "release.duration{}": 1,
		})
	})
}

// TestRenewals: what was left at a renewal is told as a share of the lease, but not where the lease
// had just begun to be short.
func TestRenewals(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, l *lab) {
		c, d := l.open(redlock.Config{}), l.open(redlock.Config{})
		first := l.lock(t.Context(), c, "a")
		time.AfterFunc(time.Second, func() { check.OK(t, first.Unlock(t.Context())) })
		hold := l.lock(t.Context(), d, "a") // with a short lease
		time.Sleep(time.Second)
		l.expect("after the first renewal", map[string]int64{"renewals{renewal=renew,result=confirmed}": 1, "renewal.duration{renewal=renew}": 1})
		check.Equal(t, l.total("renewal.remaining", "}"), 0, "renewals of a short lease that tell what was left")
		time.Sleep(35 * time.Second)
		if n, low := l.remaining(0.6, 0.7), l.total("renewal.remaining", "}"); n != 3 || low != 3 {
			t.Errorf("%d of %d renewals had two thirds left, want 3 of 3", n, low)
		}
		check.OK(t, hold.Extend(t.Context(), 20*time.Second))
		each(l.fleet, 0, 2, (*redlocktest.Master).Kill)
		time.Sleep(15 * time.Second)
		l.expect("in an outage", map[string]int64{"renewals{renewal=extend,result=confirmed}": 1})
		if n := l.total("renewals{renewal=renew,result=unconfirmed}", ""); n == 0 {
			t.Error("no renewal failed")
		}
		each(l.fleet, 0, 2, (*redlocktest.Master).Restart)
		time.Sleep(5 * time.Second)
		l.unlock(hold)
		renewed, healed := 0, 0
		for _, event := range l.named("redlock.hold")[1].Events {
			for _, a := range event.Attributes {
				switch a.Key {
				case keyResult:
					renewed++
				case keyHealed:
					healed += len(a.Value.AsStringSlice())
				}
			}
		}
		check.That(t, renewed >= 3 && healed != 0, "the hold tells of %d renewals and %d masters that were healed, want those that failed, and one that healed", renewed, healed)
	})
}
