package node

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// gathered sends cmds while a caller writes, so that they gather.
func gathered(n *Node, m *redlocktest.Master, cmds ...*script.Command) []*pending {
	m.Delay(time.Millisecond)
	n.mu.Lock()
	n.link.writing = true
	n.mu.Unlock()
	var sent []*pending
	for _, cmd := range cmds {
		sent = append(sent, send(n, cmd))
	}
	n.mu.Lock()
	n.link.writing = false
	n.mu.Unlock()
	n.wakeWriter()
	return sent
}

// acquires are k acquires of different names.
func acquires(k int) []*script.Command {
	var cmds []*script.Command
	for i := range k {
		cmds = append(cmds, script.NewOwner(fmt.Sprint("k", i), id(fmt.Sprint("me:", i))).Acquire(lease, int64(i+1)))
	}
	return cmds
}

// TestCallsGather: commands that have gathered are steps of one call, as many as one may have, and
// each is answered as if it had been alone.
func TestCallsGather(t *testing.T) {
	renewals := func(k int) *script.Command {
		var holds []script.Renewal
		for i := range k {
			holds = append(holds, script.Renewal{Owner: ownerNumber(i), Count: 1, Token: 1})
		}
		return script.Renew(lease, holds)
	}
	for _, tt := range []struct {
		name string
		cmds []*script.Command
		want int64 // calls
	}{
		{"one", acquires(1), 1},
		{"two", acquires(2), 1},
		{"as many as fit", acquires(maxSteps), 1},
		{"one more", acquires(maxSteps + 1), 2},
		{"many", acquires(5*maxSteps - 1), 5},
		{"a renewal of many holds has many steps", append(acquires(2), renewals(maxSteps-1)), 2},
		{"and may have too many by itself", append(append(acquires(1), renewals(2*maxSteps)), acquires(1)...), 3},
		{"checks are calls of their own", append(append(acquires(2), AskTime), acquires(2)...), 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				before := scriptCalls(m)
				for i, p := range gathered(n, m, tt.cmds...) {
					got := p.wait()
					want(t, fmt.Sprint("command ", i), got, script.Done)
					if tt.cmds[i].Grants() && got.Token == 0 || got.times != 1 {
						t.Errorf("command %d: answered %d times, with token %d", i, got.times, got.Token)
					}
				}
				if got := scriptCalls(m) - before; got != tt.want {
					t.Errorf("calls: got %d, want %d", got, tt.want)
				}
			})
		})
	}
}

// TestOrderWithinACall: commands are carried out in the order they were sent in.
func TestOrderWithinACall(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		one, two := script.NewOwner("k", id("me:1")), script.NewOwner("k", id("me:2"))
		sent := gathered(n, m,
			one.Acquire(lease, 7), two.Acquire(lease, 8), one.Enter(lease, 2), one.Release(7, 0), two.Acquire(lease, 9),
			script.Inspect("k"), one.Release(7, 0))
		for i, outcome := range []script.Outcome{
			script.Done, script.Refused, script.Done, script.Done, script.Done, script.Done, script.Refused,
		} {
			want(t, fmt.Sprint("command ", i), sent[i].wait(), outcome)
		}
		if got := sent[5].look(); got.Holder != two.ID || got.Token != 9 {
			t.Errorf("inspect in between: got %s with %d, want %s with 9", got.Holder, got.Token, two.ID)
		}
		if got := sent[1].look(); got.Holder != one.ID {
			t.Errorf("refused by %s, want by %s", got.Holder, one.ID)
		}
	})
}

// TestErrorInACall: what is wrong with one key is the answer to its command only.
func TestErrorInACall(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.HSet("k1", "field", "1")
		m.HSet("k1", "another", "1")
		sent := gathered(n, m, acquires(3)...)
		want(t, "before", sent[0].wait(), script.Done)
		wantErr(t, "no lock", sent[1].wait(), script.Failed, "a hash of 2 fields")
		want(t, "behind", sent[2].wait(), script.Done)
	})
}

// TestForbiddenKeyInACall: a master refuses a call for the keys of one of its commands. The others are
// carried out all the same.
func TestForbiddenKeyInACall(t *testing.T) {
	for _, refusal := range []redis.Error{
		"NOPERM this user has no permissions to access one of the keys used as arguments",
		"CROSSSLOT Keys in request don't hash to the same slot",
	} {
		t.Run(string(refusal[:6]), func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				cfg.Pool = withBentConns(cfg.Pool, &bendRules{reply: func(words string) any {
					if strings.Contains(words, " redlock_wait:{k1} ") {
						return refusal
					}
					return nil
				}})
				n := started(t, cfg)
				for i, p := range gathered(n, m, acquires(4)...) {
					if got := p.wait(); i == 1 {
						wantErr(t, "the one that is refused", got, script.Failed, string(refusal))
					} else {
						want(t, "another", got, script.Done)
					}
				}
			})
		})
	}
}

// TestReplyToACall: a reply that does not fit the call is nobody's answer, and a refusal of the
// whole call is everybody's.
func TestReplyToACall(t *testing.T) {
	for _, tt := range []struct {
		name  string
		reply any
		says  string
		up    bool // afterwards
	}{
		{"too short", []any{int64(0)}, "unexpected reply", true},
		{"too long", []any{int64(0), int64(0), int64(0), int64(0)}, "unexpected reply", true},
		{"no list", int64(0), "unexpected reply", true},
		{"one of another kind", []any{int64(0), "x", int64(0)}, "", true},
		{"refused", redis.Error("ERR unknown command 'EVALSHA', with args beginning with: "), "unknown command", true},
		{"cannot serve", redis.Error("MISCONF Errors writing to the AOF file"), "MISCONF", false},
		{"cannot serve a step", []any{int64(0), redis.Error("READONLY You can't write"), int64(0)}, "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				var bend atomic.Bool
				cfg.Pool = withBentConns(cfg.Pool, &bendRules{reply: func(words string) any {
					if strings.HasPrefix(words, "EVALSHA") && strings.Contains(words, id("me:1")) && bend.CompareAndSwap(true, false) {
						return tt.reply
					}
					return nil
				}})
				n := started(t, cfg)
				bend.Store(true)
				links := m.Calls("CLIENT")
				owner := script.NewOwner("k1", id("me:1"))
				sent := gathered(n, m, acquires(1)[0], owner.Acquire(lease, 2), script.NewOwner("k2", id("me:2")).Release(1, 0))
				for i, p := range sent {
					got := p.wait()
					if tt.says != "" {
						wantErr(t, fmt.Sprint("command ", i), got, script.Failed, tt.says)
					} else if (got.Outcome == script.Failed) != (i == 1) {
						t.Errorf("command %d: got %v (%v), want the second alone to fail", i, got.Outcome, got.Err)
					}
				}
				time.Sleep(heartbeat / 2) // a master that cannot serve is tried again
				if stays := m.Calls("CLIENT") == links; stays != tt.up {
					t.Errorf("connection goes on: got %v, want %v", stays, tt.up)
				}
			})
		})
	}
}

// TestGuardWithinACall: what a guarded master must not run is left out of the call, and the rest
// goes out in the form for one.
func TestGuardWithinACall(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		cfg.Guard = lease
		n := started(t, cfg)
		m.RestartWithData()
		time.Sleep(heartbeat)
		want(t, "has the script again", sendAndWait(n, script.Inspect("k")), script.Done)
		m.HSet("held", id("me:1"), "1")
		held := script.NewOwner("held", id("me:1"))
		before := scriptCalls(m)
		lost := script.Renewal{Owner: script.NewOwner("lost", id("me:2")), Count: 1, Token: 1}
		sent := gathered(n, m, acquires(1)[0], held.Enter(lease, 2),
			script.Renew(lease, []script.Renewal{{Owner: held, Count: 2, Token: 1}, lost}), acquires(2)[1], held.Release(1, 0))
		wantErr(t, "acquire", sent[0].wait(), script.Unsent, "restarted lately")
		want(t, "enter", sent[1].wait(), script.Done)
		if got := sent[2].wait(); fmt.Sprint(got.Renewed) != fmt.Sprint([]script.Renewed{script.Extended, script.Absent}) {
			t.Errorf("renewed: got %v, want one extended, none healed", got.Renewed)
		}
		wantErr(t, "acquire", sent[3].wait(), script.Unsent, "restarted lately")
		want(t, "release", sent[4].wait(), script.Done)
		if got := scriptCalls(m) - before; got != 1 {
			t.Errorf("calls: got %d, want one", got)
		}
	})
}

// TestAFlightBringsTheSource: a flight is sent with the source if any of its calls is to be.
func TestAFlightBringsTheSource(t *testing.T) {
	x := script.NewOwner("k", id("x:r1"))
	for name, with := range map[string][]bool{"none": {false, false, false}, "first": {true, false, false}, "in between": {false, true, false}, "last": {false, false, true}} {
		var batch []*call
		for _, source := range with {
			batch = append(batch, &call{cmd: x.Leave(2), withSource: source})
		}
		groupCalls(batch)
		if want := name != "none"; batch[0].flight != 3 || batch[0].withSource != want {
			t.Errorf("%s: a flight of %d, with the source: %v, want of 3, %v", name, batch[0].flight, batch[0].withSource, want)
		}
	}
}

// TestLostScriptOfACall: all commands of a call that found no script are sent again, in one call that
// carries the source; but what was released behind it is not.
func TestLostScriptOfACall(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		m.FlushScripts()
		sources := m.Calls("EVAL")
		first := script.NewOwner("k0", id("me:0"))
		cmds := append(acquires(maxSteps), first.Release(1, 0))
		sent := gathered(n, m, cmds...)
		got := sent[0].wait()
		wantErr(t, "the one that was released", got, script.Unsent, script.ErrWithdrawn.Error())
		for i, p := range sent[1:maxSteps] {
			want(t, fmt.Sprint("acquire ", i+1), p.wait(), script.Done)
		}
		want(t, "release", sent[maxSteps].wait(), script.Refused)
		if got := m.Calls("EVAL") - sources; got != 1 {
			t.Errorf("calls with the source: got %d, want one", got)
		}
		wantHolder(t, m, "k0", "")
	})
}
