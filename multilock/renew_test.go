package multilock

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
	"example.com/redlock/redlocktrace"
)

// Renewals: several holds in one script call, a vote on each, and healing.

// fate is what a renewal was told.
type fate struct {
	ev  protocol.HoldEvent
	why *MajorityError
}

// keptRenewal wants h renewed, and keeps what it is told: the hold hears nothing of it.
func keptRenewal(h *Hold) (renewal, <-chan fate) {
	told := make(chan fate, 2)
	return renewal{hold: h, told: func(ev protocol.HoldEvent, why *MajorityError) { told <- fate{ev, why} }}, told
}

// renew renews h once, and returns what it was told.
func renew(m *Masters, h *Hold) fate {
	r, told := keptRenewal(h)
	m.extend(redlocktrace.RenewalWatchdog, lease, []renewal{r})
	return <-told
}

func TestRenew(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault func(fx *fixture)
		want  error // nil: renewed
	}{
		{"all masters", func(*fixture) {}, nil},
		{"a dead minority", func(fx *fixture) { fx.Master(0).Kill(); fx.Master(4).Kill() }, nil},
		{"a frozen minority", func(fx *fixture) { fx.Master(0).Freeze(); fx.Master(4).Freeze() }, nil},
		{"a minority lost it", func(fx *fixture) { fx.Master(0).FlushAll(); fx.Master(4).FlushAll() }, nil},
		{"dead and lost minority", func(fx *fixture) { fx.Master(0).Kill(); fx.Master(4).FlushAll() }, nil},
		{"a majority lost it", func(fx *fixture) { fx.Master(0).FlushAll(); fx.Master(2).FlushAll(); fx.Master(4).FlushAll() }, nil},
		{"a majority was forced", func(fx *fixture) {
			for i := range 3 {
				fx.m.nodes[i].Send(script.Force("k", 1), nobody{}, i)
			}
		}, ErrLost},
		{"a majority has another owner", func(fx *fixture) { fx.seat("b", time.Hour, 0, 1, 2) }, ErrLost},
		{"a majority is no lock", func(fx *fixture) {
			for i := range 3 {
				fx.Master(i).Set("k", "x")
			}
		}, ErrLost},
		{"a majority is dead", func(fx *fixture) { fx.Master(0).Kill(); fx.Master(2).Kill(); fx.Master(4).Kill() }, ErrNoQuorum},
		{"a majority is frozen", func(fx *fixture) { fx.Master(0).Freeze(); fx.Master(2).Freeze(); fx.Master(4).Freeze() }, ErrNoQuorum},
		{"dead or lost", func(fx *fixture) { fx.Master(0).Kill(); fx.Master(2).Kill(); fx.Master(4).FlushAll() }, nil},
		{"dead or another's", func(fx *fixture) {
			fx.Master(0).Kill()
			fx.Master(2).Kill()
			fx.seat("b", time.Hour, 4)
		}, ErrNoQuorum},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 5, func(t *testing.T, fx *fixture) {
				hold := fx.take(t, fx.m, "k")
				time.Sleep(5 * time.Second)
				tt.fault(fx)
				synctest.Wait()
				r, told := keptRenewal(hold)
				fx.m.extend(redlocktrace.RenewalWatchdog, lease, []renewal{r})
				got := <-told
				switch {
				case tt.want == nil:
					if left, want := clock.Until(got.ev.Until), clock.Validity(lease, 0); got.ev.Kind != protocol.HoldRenewed || got.why != nil || left != want {
						t.Errorf("told %v with %v left, %v, want that it was renewed, with %v", got.ev.Kind, left, got.why, want)
					}
				case got.why == nil || !errors.Is(got.why, tt.want) || (got.ev.Kind == protocol.HoldLost) != (tt.want == ErrLost):
					t.Errorf("told %v, %v, want %v", got.ev.Kind, got.why, tt.want)
				}
				time.Sleep(time.Second)
				if len(told) > 0 {
					t.Errorf("told twice: %v", <-told)
				}
				hold.end(nil)
			})
		})
	}
}

// One script call renews many holds, and each of them has a vote of its own.
func TestRenewVotesOnEachHold(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		const n = 40
		var list []renewal
		var all []<-chan fate
		for i := range n {
			r, told := keptRenewal(fx.take(t, fx.m, fmt.Sprint("k", i)))
			list, all = append(list, r), append(all, told)
		}
		for key, masters := range map[string][]int{"k3": {0, 1}, "k4": {0}, "k5": {1, 2}} {
			for _, i := range masters {
				fx.Master(i).Del(key)
				fx.Master(i).HSet(key, id("b"), "1")
			}
		}
		before := fx.Master(0).Calls("EVALSHA")
		fx.m.extend(redlocktrace.RenewalWatchdog, lease, list)
		for i, told := range all {
			got := <-told
			if lost := got.ev.Kind == protocol.HoldLost; lost != (i == 3 || i == 5) || (got.why != nil) != lost {
				t.Errorf("k%d: told %v, %v, want k3 and k5 lost", i, got.ev.Kind, got.why)
			}
			if got.why != nil && (got.why.Name != fmt.Sprint("k", i) || len(got.why.Nodes.Errors) != 2 || !errors.Is(got.why, errForeign)) {
				t.Errorf("k%d: told %v, want that two masters have another owner of it", i, got.why)
			}
		}
		if calls := fx.Master(0).Calls("EVALSHA") - before; calls != 1 {
			t.Errorf("%d script calls for %d holds, want 1", calls, n)
		}
	})
}

// A hold lives on while all masters restart empty, one after another, a guard apart. Each gets it back with
// the first renewal after its guard, and no guarded one does.
func TestRenewHeals(t *testing.T) {
	const guard = lease
	inGuardedBubble(t, 3, guard, func(t *testing.T, fx *fixture) {
		req := watched()
		hold := fx.lock(t, req)
		for i, master := range fx.Masters() {
			master.Restart()
			time.Sleep(guard - 2*time.Second)
			if got := master.Holder("k"); got != "" {
				t.Fatalf("m%d, which is guarded, has %s, want nobody", i+1, got)
			}
			time.Sleep(2 * time.Second)
			time.Sleep(guard)
			if got := master.Holder("k"); got != hold.Owner() {
				t.Fatalf("m%d has %q, want %s again", i+1, got, hold.Owner())
			}
		}
		req.Entry.(*entry).wantAlive(t)
		unlock(t, hold)
		fx.wantNothing(t, "then", fx.m)
	})
}

// A hold that was withdrawn from a batch of renewals, since its release came first where the script was lost,
// is not lost. The others of the batch are renewed.
func TestRenewWithdrawn(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, fx *fixture) {
		released, other := fx.take(t, fx.m, "k"), fx.take(t, fx.m, "l")
		fx.each(func(m *redlocktest.Master) {
			m.FlushScripts()
			m.Delay(10 * time.Millisecond)
		})
		first, toldFirst := keptRenewal(released)
		second, toldSecond := keptRenewal(other)
		fx.m.extend(redlocktrace.RenewalWatchdog, lease, []renewal{first, second})
		synctest.Wait()
		fx.m.release(released.claim, 0)
		if got := <-toldFirst; got.ev.Kind != protocol.HoldFailed || got.why == nil || got.why.Lost() || !strings.Contains(got.why.Error(), "withdrawn") {
			t.Errorf("the withdrawn one: told %v, %v, want ErrNoQuorum, since it was withdrawn", got.ev.Kind, got.why)
		}
		if got := <-toldSecond; got.ev.Kind != protocol.HoldRenewed {
			t.Errorf("the other: told %v, %v, want that it is renewed", got.ev.Kind, got.why)
		}
		released.end(nil)
	})
}

// A master that answers for another number of holds, as something between it and the client might, has
// not confirmed any of them, and says so.
func TestRenewOfAnotherNumber(t *testing.T) {
	for _, n := range []int{0, 1, 3} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			inBubble(t, 1, func(t *testing.T, fx *fixture) {
				one, toldOne := keptRenewal(fx.take(t, fx.m, "k"))
				two, toldTwo := keptRenewal(fx.take(t, fx.m, "l"))
				r := &renewals{m: fx.m, list: []renewal{one, two}, ballot: fx.m.newBallot()}
				r.Answer(0, script.Answer{Outcome: script.Done, Renewed: slices.Repeat([]script.Renewed{script.Extended}, n)})
				for _, told := range []<-chan fate{toldOne, toldTwo} {
					if got := <-told; got.why == nil || !errors.Is(got.why, ErrNoQuorum) || !errors.Is(got.why, errShort) {
						t.Errorf("told %v, want ErrNoQuorum: %v", got.why, errShort)
					}
				}
			})
		})
	}
}

// A renewal claims the masters that it was sent to, and no others.
func TestRenewalClaimsWhereItWasSent(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.Master(1).Kill()
		time.Sleep(time.Second)
		hold := fx.take(t, fx.m, "k")
		claimed := func() Set {
			hold.mu.Lock()
			defer hold.mu.Unlock()
			return hold.state.At
		}
		if at := claimed(); at != 0b101 {
			t.Errorf("the hold claims %03b, want 101", at)
		}
		renew(fx.m, hold)
		if at := claimed(); at != 0b101 {
			t.Errorf("after a renewal the hold claims %03b, want 101", at)
		}
		fx.Master(1).RestartWithData()
		time.Sleep(2 * time.Second)
		renew(fx.m, hold)
		if at := claimed(); at != 0b111 {
			t.Errorf("after one that healed it claims %03b, want 111", at)
		}
		fx.wantHolders(t, "k", hold.Owner()+" "+hold.Owner()+" "+hold.Owner())
		unlock(t, hold)
		fx.wantNothing(t, "then", fx.m)
	})
}

// A renewal that was made before a release and sent after it sets the lock again on masters that have just
// freed it: it is released again, and nothing is left of it.
func TestRenewalThatCrossesARelease(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *Hold){
		"Unlock": func(t *testing.T, hold *Hold) { unlock(t, hold) },
		"loss": func(_ *testing.T, hold *Hold) {
			hold.step(protocol.HoldEvent{Kind: protocol.HoldLost}, ErrLost)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				ends, stays := fx.take(t, fx.m, "k"), fx.take(t, fx.m, "stays")
				// What a batch does, with the release between the making of the command and its sending.
				cmd := script.Renew(lease, []script.Renewal{ends.renewal(), stays.renewal()})
				end(t, ends)
				fx.wantHolders(t, "k", "- - -")
				r := &renewals{m: fx.m, ballot: fx.m.newBallot()}
				for _, h := range []*Hold{ends, stays} {
					kept, _ := keptRenewal(h)
					r.list = append(r.list, kept)
				}
				fx.m.send(cmd, fx.m.All(), r)
				ends.sent(fx.m.All())
				stays.sent(fx.m.All())
				fx.wantHolders(t, "k", "- - -")
				fx.wantHolders(t, "stays", stays.Owner()+" "+stays.Owner()+" "+stays.Owner())
				unlock(t, stays)
				fx.wantNothing(t, "then", fx.m)
			})
		})
	}
}

// The same by itself: an Extend and an Unlock at the same time, over and over, leave nothing.
func TestExtendThatCrossesUnlock(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		for i, m := range fx.Masters() {
			m.Delay(time.Duration(i) * time.Millisecond)
		}
		for range 200 {
			hold := fx.take(t, fx.m, "k")
			e := entryOf(hold)
			done := make(chan struct{})
			go func() {
				defer close(done)
				_ = hold.Extend(t.Context(), e, lease)
			}()
			if err := hold.Unlock(t.Context(), e); err != nil {
				t.Fatalf("Unlock = %v", err)
			}
			<-done
			time.Sleep(10 * time.Millisecond)
			if got := fx.holders("k"); got != "- - -" {
				t.Fatalf("holders = %s, want none: a renewal came after the release", got)
			}
		}
		fx.wantNothing(t, "then", fx.m)
	})
}

// In an outage a hold is renewed again and again, sooner as validity runs out, but neither the masters
// nor the log are flooded. The loss says why.
func TestRenewalsOfAnOutage(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		req := watched()
		fx.lock(t, req)
		fx.each((*redlocktest.Master).Kill)
		time.Sleep(lease)
		req.Entry.(*entry).wantEnded(t, ErrLost)
		req.Entry.(*entry).wantEnded(t, ErrNoQuorum)
		if n := len(fx.log.lines("renewal failed")); n < 10 || n > 20 {
			t.Errorf("%d renewals failed until the end of validity, want 10 to 20", n)
		}
	})
}

// A renewal that crosses Unlock has failed to no purpose: the log is silent.
func TestUnlockedHoldIsNotReported(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		unlock(t, hold)
		hold.renewed(protocol.HoldEvent{Kind: protocol.HoldFailed}, new(MajorityError))
		if lines := fx.log.lines("renewal failed"); len(lines) > 0 {
			t.Errorf("the log says %q, want nothing", lines)
		}
	})
}

// An Extend that was made for a writer and arrives after the downgrade finds readers. The hold is not
// lost, and the caller is not told so.
func TestExtendThatComesAfterADowngrade(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		result := make(chan error, 1)
		late := &renewals{m: fx.m, ballot: fx.m.newBallot(), list: []renewal{{
			hold:  hold,
			told:  func(ev protocol.HoldEvent, why *MajorityError) { result <- hold.extended("extend", ev, why) },
			state: protocol.Renewal{Sent: clock.Now(), Lease: lease},
		}}}
		cmd := script.Renew(lease, []script.Renewal{hold.renewal()})
		if err := hold.Downgrade(t.Context(), entryOf(hold)); err != nil {
			t.Fatal(err)
		}
		fx.m.send(cmd, fx.m.All(), late)
		if err := <-result; err != errDowngraded {
			t.Errorf("Extend is told %v, want that it was downgraded", err)
		}
		if err := hold.Check(); err != nil {
			t.Errorf("the hold has ended: %v", err)
		}
		unlock(t, hold)
	})
}
