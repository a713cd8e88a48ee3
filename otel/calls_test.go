package otelredlock

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktest"
)

// TestOutcomes: each way in which a call ends is counted, and only those that are errors say so.
func TestOutcomes(t *testing.T) {
	for name, tt := range map[string]struct {
		call  func(*testing.T, *lab)
		error string
	}{
		"acquired": {call: func(t *testing.T, l *lab) {
			l.unlock(l.lock(t.Context(), l.open(redlock.Config{}), "a"))
		}},
		"entered": {call: func(t *testing.T, l *lab) {
			c := l.open(redlock.Config{})
			hold := l.lock(t.Context(), c, "a")
			again, err := hold.Enter(t.Context())
			check.OK(t, err)
			l.unlock(again)
			l.expect("entered", map[string]int64{"hold.count{kind=lock}": 1})
			l.unlock(hold)
		}},
		"taken": {call: func(t *testing.T, l *lab) {
			l.lock(t.Context(), l.open(redlock.Config{}), "a")
			check.Err(t, "TryLock", second(l.open(redlock.Config{}).TryLock(t.Context(), "a")), redlock.ErrTaken)
		}},
		"no_quorum": {error: "no_quorum", call: func(t *testing.T, l *lab) {
			c := l.open(redlock.Config{})
			each(l.fleet, 0, 2, (*redlocktest.Master).Kill)
			check.Err(t, "TryLock", second(c.TryLock(t.Context(), "a")), redlock.ErrNoQuorum)
		}},
		"guarded": {error: "guarded", call: func(t *testing.T, l *lab) {
			c := l.open(redlock.Config{RestartGuard: time.Minute})
			each(l.fleet, 0, 2, (*redlocktest.Master).Restart)
			time.Sleep(2 * time.Second)
			check.Err(t, "TryLock", second(c.TryLock(t.Context(), "a")), redlock.ErrGuarded)
		}},
		"context_ended": {error: "taken", call: func(t *testing.T, l *lab) {
			l.lock(t.Context(), l.open(redlock.Config{}), "a")
			waitInVain(t, l.open(redlock.Config{}))
		}},
		"context_ended in an outage": {error: "no_quorum", call: func(t *testing.T, l *lab) {
			c := l.open(redlock.Config{})
			each(l.fleet, 0, 2, (*redlocktest.Master).Kill)
			waitInVain(t, c)
		}},
		"context_ended in a guard": {error: "guarded", call: func(t *testing.T, l *lab) {
			c := l.open(redlock.Config{RestartGuard: time.Minute})
			each(l.fleet, 0, 3, (*redlocktest.Master).Restart)
			time.Sleep(2 * time.Second)
			waitInVain(t, c)
		}},
		"closed": {error: "closed", call: func(t *testing.T, l *lab) {
			l.lock(t.Context(), l.open(redlock.Config{}), "a")
			c := l.open(redlock.Config{})
			time.AfterFunc(time.Second, func() { c.Close() })
			check.Err(t, "Lock", second(c.Lock(t.Context(), "a")), redlock.ErrClosed)
		}},
		"upgrade": {error: "upgrade", call: func(t *testing.T, l *lab) {
			c := l.open(redlock.Config{})
			hold, err := c.Lock(redlock.WithOwner(t.Context()), "a", redlock.Shared())
			check.OK(t, err)
			check.Err(t, "Lock", second(c.Lock(hold.Context(), "a")), redlock.ErrUpgrade)
			l.unlock(hold)
		}},
		"conflict": {error: "conflict", call: func(t *testing.T, l *lab) {
			l.lock(t.Context(), l.open(redlock.Config{Lease: time.Hour}), "a")
			check.Err(t, "TryLock", second(l.open(redlock.Config{RestartGuard: time.Minute}).TryLock(t.Context(), "b")), redlock.ErrShortGuard)
		}},
	} {
		outcome, _, _ := strings.Cut(name, " ")
		t.Run(name, func(t *testing.T) {
			bubble(t, Config{}, func(t *testing.T, l *lab) {
				tt.call(t, l)
				synctest.Wait()
				failed := ""
				if tt.error != "" {
					failed = "error.type=" + tt.error + ","
				}
				l.expect("after the call", map[string]int64{
					"acquire.duration{" + failed + "kind=lock,outcome=" + outcome + "}": 1,
				})
				for _, span := range l.spans.GetSpans() {
					if at(span, keyOutcome) != outcome {
						continue
					}
					check.Equal(t, at(span, keyError), tt.error, "error.type of the span")
					check.Equal(t, span.Status.Description != "", tt.error != "", "the status %+v is one of an error", span.Status)
					return
				}
				t.Errorf("no span has the outcome %s", outcome)
			})
		})
	}
}

// waitInVain waits for a lock that does not come in time.
func waitInVain(t *testing.T, c *redlock.Client) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	check.Err(t, "Lock", second(c.Lock(ctx, "a")), context.DeadlineExceeded)
}

func TestWaits(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, l *lab) {
		a, b := l.open(redlock.Config{}), l.open(redlock.Config{})
		hold := l.lock(t.Context(), a, "a")
		time.AfterFunc(3*time.Second, func() {
			l.expect("while one waits", map[string]int64{"waiter.count{kind=lock}": 1, "hold.count{kind=lock}": 1})
			check.OK(t, hold.Unlock(t.Context()))
		})
		l.unlock(l.lock(t.Context(), b, "a"))
		l.expect("at the end", map[string]int64{
			"waiter.count{kind=lock}":                      0,
			"hold.count{kind=lock}":                        0,
			"acquire.duration{kind=lock,outcome=acquired}": 2,
			"wait.duration{kind=lock,outcome=acquired}":    1,
		})
		check.AtLeast(t, l.total("master.votes{", "vote=handed_off}"), 2, "masters that have handed the lock off")
	})
}

// TestLabel: metrics have what Config.Label makes of the name, and Config.Attributes.
func TestLabel(t *testing.T) {
	cfg := Config{
		Label:      func(name string) string { return name[:1] },
		Attributes: []attribute.KeyValue{attribute.String("set", "one")},
	}
	bubble(t, cfg, func(t *testing.T, l *lab) {
		c := l.open(redlock.Config{})
		l.unlock(l.lock(t.Context(), c, "orders:42"))
		l.unlock(l.lock(t.Context(), c, "others:43"))
		reader, err := c.Lock(t.Context(), "orders:42", redlock.Shared())
		check.OK(t, err)
		l.unlock(reader)
		permit, err := c.Lock(t.Context(), "orders", redlock.Permits(2))
		check.OK(t, err)
		l.unlock(permit)
		l.expect("after four holds", map[string]int64{
			"acquire.duration{kind=lock,name=o,outcome=acquired,set=one}": 2,
			"hold.duration{end=unlocked,kind=lock,name=o,set=one}":        2,
			"hold.duration{end=unlocked,kind=read,name=o,set=one}":        1,
			"hold.duration{end=unlocked,kind=permit,name=o,set=one}":      1,
			"hold.losses{end=lost,kind=lock,name=o,set=one}":              0,
			"master.votes{master=pool 0,vote=granted,set=one}":            4,
			"master.state{master=pool 0,state=up,set=one}":                1,
		})
		for _, span := range l.spans.GetSpans() {
			check.Equal(t, at(span, "set"), "one", "the attribute of Config, of span %s", span.Name)
		}
	})
}

// TestEventsAreBounded: a call that waits through an outage keeps the events of its beginning and of
// its end.
func TestEventsAreBounded(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, l *lab) {
		c := l.open(redlock.Config{})
		l.unlock(l.lock(t.Context(), c, "warm"))
		l.spans.Reset()
		each(l.fleet, 0, 2, (*redlocktest.Master).Kill)
		time.AfterFunc(time.Minute, func() { each(l.fleet, 0, 2, (*redlocktest.Master).RestartWithData) })
		l.unlock(l.lock(t.Context(), c, "a"))
		span := l.span("redlock.lock")
		events := span.Events
		check.Equal(t, len(events), mostEvents+1, "events, with the decision")
		check.That(t, span.DroppedEvents == 0 && at(span, keyOmitted) != "", "the SDK dropped %d events, %q were omitted", span.DroppedEvents, at(span, keyOmitted))
		first, last := events[0].Name, events[len(events)-1]
		check.That(t, first == "redlock.asked" && last.Name == "redlock.decided", "the first event is %s, the last %s", first, last.Name)
	})
}

// TestSlowExporter: a span processor that blocks holds up neither a lock nor what other clients tell.
func TestSlowExporter(t *testing.T) {
	bubble(t, Config{}, func(t *testing.T, l *lab) {
		blocked := make(chan struct{})
		l.tracers.RegisterSpanProcessor(&blocker{until: blocked})
		a, b := l.open(redlock.Config{}), l.open(redlock.Config{})
		hold := l.lock(t.Context(), a, "a") // the end of its span blocks
		synctest.Wait()
		l.unlock(l.lock(t.Context(), b, "b"))
		l.unlock(hold)
		l.expect("while one client's spans are blocked", map[string]int64{"acquire.duration{kind=lock,outcome=acquired}": 2})
		close(blocked)
		synctest.Wait()
		l.expect("later", map[string]int64{"hold.duration{end=unlocked,kind=lock}": 2})
	})
}

// TestNoProvider: without providers nothing is measured, and nothing fails.
func TestNoProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		c, err := redlock.New(redlock.Config{Pools: fleet.Pools(), RestartGuard: redlock.GuardOff, Trace: New(Config{})})
		check.OK(t, err)
		check.OK(t, c.Do(t.Context(), "a", func(context.Context) error { return nil }))
		check.OK(t, c.Close())
	})
}

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
		check.AtLeast(t, l.total("renewals{renewal=renew,result=unconfirmed}", ""), 1, "renewals that failed")
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
