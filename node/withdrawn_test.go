package node

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestWithdrawn: an acquire or a renewal that the master could not run, because it had
// lost the script, must not be sent again behind the release that takes it back.
func TestWithdrawn(t *testing.T) {
	for _, tt := range []struct {
		name string
		cmd  *script.Command
	}{
		{"acquire", script.NewOwner("k", id("me:1")).Acquire(lease, 1)},
		{"renew", script.Renew(lease, []script.Renewal{{Owner: script.NewOwner("k", id("me:1")), Count: 1, Token: 1}})},
	} {
		for _, known := range []string{"no script", "release.lua"} {
			t.Run(tt.name+", the master has "+known, func(t *testing.T) {
				bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
					n := started(t, cfg)
					m.FlushScripts()
					if known == "release.lua" {
						want(t, "another release", call1(n, script.NewOwner("x", id("me:9")).Release(1, 0)), script.Refused)
					}
					m.Delay(10 * time.Millisecond)
					taken := send(n, tt.cmd)
					synctest.Wait()
					released := send(n, script.NewOwner("k", id("me:1")).Release(1, 0))
					wantErr(t, tt.name, taken.wait(), script.Unsent, "withdrawn")
					want(t, "release", released.wait(), script.Refused)
					time.Sleep(time.Second)
					wantHolder(t, m, "k", "")
				})
			})
		}
	}
}

// TestWithdrawnFromBatch: of a batch of renewals only the hold that is released is withdrawn. Each answer stands
// where its hold does, and the one withdrawn is not taken for a hold that is gone.
func TestWithdrawnFromBatch(t *testing.T) {
	for _, tt := range []struct {
		name     string
		released []int
		want     string
	}{
		{"first", []int{0}, "[-2 -1 2 1 -3]"},
		{"in between", []int{2}, "[1 -1 -2 1 -3]"},
		{"last two", []int{2, 3}, "[1 -1 -2 -2 -3]"},
		{"first and last", []int{0, 3}, "[-2 -1 2 -2 -3]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				var holds []script.Renewal
				m.Set("k4", "no lock")
				for i := range 5 {
					holds = append(holds, script.Renewal{Owner: script.NewOwner(fmt.Sprint("k", i), id(fmt.Sprint("me:", i))), Count: 1, Token: 1})
				}
				for i, owner := range map[int]string{0: id("me:0"), 1: id("you:1"), 3: id("me:3")} {
					want(t, "acquire", call1(n, script.NewOwner(holds[i].Key, owner).Acquire(time.Second, 1)), script.Done)
				}
				m.FlushScripts()
				m.Delay(10 * time.Millisecond)
				renewed := send(n, script.Renew(lease, holds))
				synctest.Wait()
				for _, i := range tt.released {
					send(n, holds[i].Release(1, 0))
				}
				got := renewed.wait()
				want(t, "renew", got, script.Done)
				if s := fmt.Sprint(got.Renewed); s != tt.want {
					t.Errorf("renewed: got %s, want %s", s, tt.want)
				}
				if !contains(got.NotLock[4], "no lock") || len(got.NotLock) != 1 {
					t.Errorf("what is no lock: got %v, want k4 alone", got.NotLock)
				}
				if !contains(got.Err, "withdrawn") {
					t.Errorf("error: got %v, want why it is not known of all", got.Err)
				}
				m.Delay(0)
				for i, h := range holds {
					mine := h.ID
					if i == 1 {
						mine = id("you:1")
					}
					if i == 4 || slices.Contains(tt.released, i) {
						mine = ""
					}
					wantHolder(t, m, h.Key, mine)
				}
			})
		})
	}
}

// TestWithdrawnTwice: a batch may shrink again, while another call carries the source.
func TestWithdrawnTwice(t *testing.T) {
	n := &Node{wake: make(chan struct{}, 1)}
	l := &link{loading: map[string]bool{script.Renew(lease, nil).SHA(): true}}
	var holds []script.Renewal
	for i := range 4 {
		holds = append(holds, script.Renewal{Owner: script.NewOwner(fmt.Sprint("k", i), id(fmt.Sprint("me:", i))), Count: 1, Token: 1})
	}
	c := n.newCallLocked(script.Renew(lease, holds), nobody{}, 0)
	for _, i := range []int{2, 0} {
		l.inFlight.push(n.newCallLocked(holds[i].Release(1, 0), nil, 0))
		if due := n.resendLocked(l, nil, c); len(due) > 0 {
			t.Fatalf("resend: answered %v, want nothing", due)
		}
	}
	a := c.original.Whole(c.cmd, script.Answer{Outcome: script.Done, Renewed: []script.Renewed{script.Extended, script.Foreign}})
	if got := fmt.Sprint(a.Renewed); got != "[-2 1 -2 -1]" {
		t.Errorf("renewed: got %s, want [-2 1 -2 -1]", got)
	}
	if want := script.Renew(lease, []script.Renewal{holds[1], holds[3]}); fmt.Sprint(c.cmd.Arguments(false, false)) != fmt.Sprint(want.Arguments(false, false)) {
		t.Errorf("sent again: got %v, want %v", c.cmd.Arguments(false, false), want.Arguments(false, false))
	}
}

// TestNotWithdrawn: a release of another owner is no reason to drop a command.
func TestNotWithdrawn(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.FlushScripts()
		m.Delay(10 * time.Millisecond)
		taken := send(n, script.NewOwner("k", id("me:1")).Acquire(lease, 1))
		released := send(n, script.NewOwner("k", id("me:10")).Release(1, 0))
		want(t, "acquire", taken.wait(), script.Done)
		want(t, "release", released.wait(), script.Refused)
	})
}
