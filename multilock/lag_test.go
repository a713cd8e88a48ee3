package multilock

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/redlocktest"
)

// What becomes of what was won when masters turn out not to stand by it.

// The clocks of so many masters gain on the client's, as all do while its machine is paused and does not know
// it. Of 10 s that a hold is valid, as much is gone, within a second, whatever has it; and a hold that is over
// then never is beside the next one. A minority that runs ahead costs a hold nothing, and is found out at once.
func TestClockThatStoodStill(t *testing.T) {
	full := clock.Validity(lease, 0)
	for _, tt := range []struct {
		name   string
		ahead  int
		paused time.Duration
		want   time.Duration // left of the fixed lease a second later; 0: it is over
		keeps  bool          // the hold that is renewed
	}{
		{"a minority for long", 1, time.Hour, full - time.Second, true},
		{"a majority for a while", 2, 3 * time.Second, full - 4*time.Second, true},
		{"all for a while", 3, 3 * time.Second, full - 4*time.Second, true},
		{"a majority for longer than the lease", 2, time.Minute, 0, false},
		{"all for longer than the lease", 3, time.Minute, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				fixed, req := fx.take(t, fx.m, "fixed"), watched()
				renewed := fx.lock(t, req)
				for i := range tt.ahead {
					fx.Master(i).Skew(tt.paused)
				}
				time.Sleep(time.Second)
				synctest.Wait()
				if got := fixed.Remaining(); got != tt.want {
					t.Errorf("a second later %v is left, want %v", got, tt.want)
				}
				if tt.want == 0 {
					entryOf(fixed).wantEnded(t, ErrLost)
				} else {
					entryOf(fixed).wantAlive(t)
					time.Sleep(tt.want)
					synctest.Wait()
					entryOf(fixed).wantEnded(t, ErrLost) // and its timer fires then
				}
				if err := renewed.Check(); tt.keeps && tt.ahead == 1 && err != nil || !tt.keeps && !errors.Is(err, ErrLost) {
					t.Errorf("the hold that is renewed: %v, want it kept: %v", err, tt.keeps)
				}
				renewed.end(nil)
			})
		})
	}
}

// A renewal that was sent before the client's clock stood still, and is answered after, is worth that much less.
func TestRenewalAcrossAPause(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		fx.m.Gained(1, 3*time.Second)
		r, told := keptRenewal(hold)
		fx.m.extend("", lease, []renewal{r})
		fx.m.Gained(2, 4*time.Second)
		got := <-told
		if left, want := fx.m.left(got.ev.Until), clock.Validity(lease, 3*time.Second); left != want {
			t.Errorf("renewed for %v, want %v", left, want)
		}
		hold.end(nil)
	})
}

// Who holds a lock learns at once that a majority of the masters has restarted without it, and that it still
// has the lock where a minority has.
func TestRestartIsLookedAtOnce(t *testing.T) {
	for _, tt := range []struct {
		name    string
		restart func(*redlocktest.Master)
		masters int
		want    error
	}{
		{"a majority, empty", (*redlocktest.Master).Restart, 2, ErrLost},
		{"a majority, with its data", (*redlocktest.Master).RestartWithData, 2, nil},
		{"a minority, empty", (*redlocktest.Master).Restart, 1, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inGuardedBubble(t, 3, time.Minute, func(t *testing.T, fx *fixture) {
				req := watched()
				req.Lease = 30 * time.Second
				hold := fx.lock(t, req)
				time.Sleep(3 * time.Second)
				for i := range tt.masters {
					tt.restart(fx.Master(i))
				}
				time.Sleep(100 * time.Millisecond)
				synctest.Wait()
				if err := hold.Check(); !errors.Is(err, tt.want) {
					t.Errorf("the hold: %v, want %v", err, tt.want)
				}
				if want := clock.Validity(30*time.Second, 100*time.Millisecond); tt.want == nil && hold.Remaining() < want {
					t.Errorf("%v is left, want %v or more: it was renewed", hold.Remaining(), want)
				}
				hold.end(nil)
			})
		})
	}
}
