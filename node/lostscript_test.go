package node

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestScriptIsLoadedOnce: a master that has lost its scripts gets the source once.
func TestScriptIsLoadedOnce(t *testing.T) {
	for _, tt := range []struct {
		name string
		lose func(*redlocktest.Master, *Node)
	}{
		{"SCRIPT FLUSH", func(m *redlocktest.Master, _ *Node) { m.FlushScripts() }},
		{"restart", func(m *redlocktest.Master, n *Node) {
			m.Restart()
			time.Sleep(3 * heartbeat) // the heartbeat notices
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				want(t, "before", sendAndWait(n, script.Inspect("k")), script.Done)
				tt.lose(m, n)
				m.HSet("k", id("me:1"), "1")
				before := m.Calls("EVAL")
				for range 3 {
					got := sendAndWait(n, script.Inspect("k"))
					want(t, "after", got, script.Done)
					if got.Holder != id("me:1") {
						t.Errorf("holder: got %q, want me:1", got.Holder)
					}
				}
				if got := m.Calls("EVAL") - before; got != 1 {
					t.Errorf("calls of EVAL: got %d, want 1", got)
				}
			})
		})
	}
}

// A release that the master did not know the script of is sent again, after others. Where the
// next owner gave up meanwhile, it must not enter the queue after all.
func TestReleaseToAgainAfterGivingUp(t *testing.T) {
	for _, gaveUp := range []bool{true, false} {
		t.Run(fmt.Sprintf("gave up=%v", gaveUp), func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				m.HSet("k", id("y:r0"), "1")
				m.Expire("k", lease)
				m.FlushScripts()
				m.Delay(5 * time.Millisecond)
				release := send(n, script.NewOwner("k", id("x:r0")).ReleaseTo(1, 0, script.NewOwner("k", id("x:r9")), script.QueueEntry{Round: 1, Since: 20, Lease: short, Proposal: 1}))
				time.Sleep(6 * time.Millisecond) // refused, and the refusal is on its way
				m.Delay(0)
				loadScripts(t, cfg.Pool)
				m.Delay(5 * time.Millisecond)
				if gaveUp {
					send(n, script.NewOwner("k", id("x:r9")).Release(1, 20))
				}
				want(t, "release", release.wait(), script.Refused)
				time.Sleep(time.Second)
				wantHolder(t, m, "k", id("y:r0"))
				if waits := m.ZSet("redlock_wait:{k}"); gaveUp != (waits == nil) {
					t.Errorf("queue: %v", waits)
				}
			})
		})
	}
}

// TestResentReleasesCarryNoSource: a master that restarted has lost its scripts, and is sent the
// source of each once, however many are sent again, and again when it loses it again.
func TestResentReleasesCarryNoSource(t *testing.T) {
	for _, delay := range []time.Duration{0, 5 * time.Millisecond} {
		t.Run(delay.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				killAndWait(t, m, n)
				const many = 3000
				for i := range many {
					n.Send(ownerNumber(i).Release(1, 0), noReceiver{}, 0)
					n.Send(script.NewOwner("x", fmt.Sprint("you:", i)).Leave(1), noReceiver{}, 0)
				}
				m.Delay(delay)
				before, calls := m.Calls("EVAL"), scriptCalls(m)
				m.Restart()
				waitUntil(t, 2*time.Second, n.isUp)
				if got := m.Calls("EVAL") - before; got != 2 {
					t.Errorf("calls of EVAL: got %d, want one for each script", got)
				}
				if got, most := scriptCalls(m)-calls, int64(2*many+maxBatch); got > most {
					t.Errorf("script calls: got %d, want at most %d: those of a batch come twice", got, most)
				}
				m.FlushScripts()
				before = m.Calls("EVAL")
				var all []*pending
				for i := range 100 {
					all = append(all, send(n, ownerNumber(i).Release(1, 0)))
				}
				for _, p := range all {
					want(t, "release", p.wait(), script.Refused)
				}
				if got := m.Calls("EVAL") - before; got != 1 {
					t.Errorf("calls of EVAL after SCRIPT FLUSH: got %d, want 1", got)
				}
			})
		})
	}
}

// TestScriptIsAlwaysLost: a master that loads no script whatever it is sent answers each
// command all the same, with what it says to the source.
func TestScriptIsAlwaysLost(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var broken atomic.Bool
		cfg.Pool = withBentConns(cfg.Pool, &bendRules{reply: func(words string) any {
			switch {
			case !broken.Load():
			case strings.HasPrefix(words, "EVALSHA"):
				return redis.Error("NOSCRIPT No matching script.")
			case strings.HasPrefix(words, "EVAL"):
				return redis.Error("NOPERM this user has no permissions to run the 'eval' command")
			}
			return nil
		}})
		n := started(t, cfg)
		m.Delay(time.Millisecond)
		broken.Store(true)
		calls := scriptCalls(m)
		const many = 100
		var all []*pending
		for range many {
			all = append(all, send(n, script.Inspect("k")))
		}
		for _, p := range all {
			wantErr(t, "inspect", p.wait(), script.Failed, "NOPERM")
		}
		if got := scriptCalls(m) - calls; got > 3*many {
			t.Errorf("script calls: got %d, want at most three for each command", got)
		}
	})
}

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
		for _, known := range []string{"no script", "the script again"} {
			t.Run(tt.name+", the master has "+known, func(t *testing.T) {
				bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
					n := started(t, cfg)
					m.FlushScripts()
					m.Delay(10 * time.Millisecond)
					taken := send(n, tt.cmd)
					synctest.Wait()
					if known == "the script again" {
						time.Sleep(11 * time.Millisecond) // refused, and the refusal is on its way
						m.Delay(0)
						loadScripts(t, cfg.Pool)
						m.Delay(10 * time.Millisecond)
					}
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

// TestSentAgainBehindWhatFollowed: a command that the master could not run, because it had lost the
// script, is sent again behind what followed it, and undoes nothing of that.
func TestSentAgainBehindWhatFollowed(t *testing.T) {
	me := script.NewOwner("k", id("me:1"))
	for _, tt := range []struct {
		name        string
		cmd, behind *script.Command
	}{
		{"enter, behind a leave", me.Enter(lease, 3), me.Leave(2)},
		{"leave, behind an enter", me.Leave(1), me.Enter(lease, 2)},
		{"renew, behind a leave", script.Renew(lease, []script.Renewal{{Owner: me, Count: 3, Token: 1}}), me.Leave(2)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				want(t, "acquire", sendAndWait(n, me.Acquire(time.Second, 1)), script.Done)
				m.FlushScripts()
				m.Delay(10 * time.Millisecond)
				first := send(n, tt.cmd)
				time.Sleep(11 * time.Millisecond) // refused, and the refusal is on its way
				m.Delay(0)
				loadScripts(t, cfg.Pool)
				m.Delay(10 * time.Millisecond)
				second := send(n, tt.behind)
				for _, p := range []*pending{first, second} {
					got := p.wait()
					want(t, tt.name, got, script.Done)
					if len(got.Renewed) > 0 && got.Renewed[0] != script.Extended {
						t.Errorf("renewed: got %v, want Extended", got.Renewed)
					}
				}
				if got := m.HGet("k", me.ID); got != "2" {
					t.Errorf("hold count: got %q, want that of the later command, 2", got)
				}
			})
		})
	}
}

// TestWithdrawnFromBatch: of a batch of renewals only the hold that is released is withdrawn. Each
// answer is at the place of its hold, and the one withdrawn does not count as a hold that is gone.
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
					want(t, "acquire", sendAndWait(n, script.NewOwner(holds[i].Key, owner).Acquire(time.Second, 1)), script.Done)
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
				if !contains(got.Errors[4], "no lock") || len(got.Errors) != 1 {
					t.Errorf("what is no lock: got %v, want k4 alone", got.Errors)
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
