package redlock

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// crossing is a hold that has something happen while a round of renewals is made: what was
// listed before it is in the round, and nothing of that has been sent.
type crossing struct {
	*held
	happen func()
}

func (c crossing) Hold() script.Renewal {
	c.happen()
	return c.held.Hold()
}

// A renewal that was made before an Unlock and sent after it sets the lock again on masters that
// have just freed it: it is released again, and nothing is left of it.
func TestRenewalThatCrossesUnlock(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *Client, *Hold){
		"Unlock": func(t *testing.T, _ *Client, hold *Hold) {
			if err := hold.Unlock(t.Context()); err != nil {
				t.Errorf("Unlock = %v, want nil: the masters had the hold", err)
			}
		},
		"loss": func(_ *testing.T, _ *Client, hold *Hold) { hold.h.lose(nil) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				fleet := redlocktest.Start(t, 3)
				c, err := New(Config{Pools: fleet.Pools(), RestartGuard: -1})
				if err != nil {
					t.Fatal(err)
				}
				defer c.Close()
				var holds [2]*Hold
				for i, name := range []string{"ends", "stays"} {
					if holds[i], err = c.Lock(t.Context(), name); err != nil {
						t.Fatal(err)
					}
				}
				synctest.Wait()
				c.renew(30*time.Second, holds[1].h) // from now on the masters know the script
				synctest.Wait()
				freed := false
				c.renew(30*time.Second, holds[0].h, crossing{holds[1].h, func() {
					if freed {
						return
					}
					freed = true
					end(t, c, holds[0])
					synctest.Wait()
					for _, m := range fleet.Masters() {
						if got := m.Holder("ends"); got != "" {
							t.Errorf("%s has %s before the renewal that crosses its release is sent", m.Name(), got)
						}
					}
				}})
				if !freed {
					t.Fatal("the hold did not end while the round was made")
				}
				synctest.Wait()
				for _, m := range fleet.Masters() {
					if got := m.Hash("ends"); got != nil {
						t.Errorf("%s has %v after the end of the hold: the renewal behind its release set it again", m.Name(), got)
					}
					if got := m.Holder("stays"); got != holds[1].Owner() {
						t.Errorf("%s: the hold beside it is %q's, want it left alone", m.Name(), got)
					}
				}
				if err := holds[1].Unlock(t.Context()); err != nil {
					t.Errorf("Unlock of the hold beside it = %v", err)
				}
			})
		})
	}
}
