package multilock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
	"example.com/redlock/redlocktrace"
)

// What the client keeps, and when it goes.

// keeping is bubble with a client that keeps its locks for half a lease.
func keeping(f func(*testing.T, *fixture)) func(*testing.T) {
	return bubble(3, func(t *testing.T, fx *fixture) {
		fx.m.Keep(lease / 2)
		synctest.Wait()
		f(t, fx)
	})
}

// keep has the client of fx take k and give it back, which it must keep.
func (fx *fixture) keep(t *testing.T) *Hold {
	t.Helper()
	hold := fx.lock(t, watched("k"))
	unlock(t, hold)
	fx.wantKept(t, hold)
	return hold
}

// wantKept fails unless the client keeps what hold has given back, at all masters.
func (fx *fixture) wantKept(t *testing.T, hold *Hold) {
	t.Helper()
	fx.wantHolders(t, "k", strings.Repeat(hold.Owner()+" ", 3))
	check.Equal(t, fx.m.keeps("k"), true, "the client keeps what the masters have")
}

// keeps reports whether the client keeps key.
func (m *Masters) keeps(key string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[key]
	return n != nil && n.kept != nil
}

// A renewal that is meant for a hold, and made when that has ended, is not made: the client keeps the lock, and
// what follows such a renewal would release it under the next hold of the same owner.
func TestNoRenewalIsMadeOfWhatIsKept(t *testing.T) {
	now := func(kind attempt.Kind, what redlocktrace.Renewal) func(*testing.T, *fixture, *Hold) {
		return func(t *testing.T, fx *fixture, hold *Hold) {
			_, err := hold.renewOnce(t.Context(), what, attempt.Event{Kind: kind, Lease: lease})
			check.Err(t, string(what), err, poll.ErrNotHeld)
		}
	}
	for name, renew := range map[string]func(*testing.T, *fixture, *Hold){
		"Extend":       now(attempt.Renew, redlocktrace.RenewalExtend),
		"Downgrade":    now(attempt.Downgrade, redlocktrace.RenewalDowngrade),
		"the watchdog": func(_ *testing.T, fx *fixture, hold *Hold) { fx.m.renew(lease, []*driver{hold.d}) },
	} {
		for _, again := range []bool{false, true} {
			if again && name == "the watchdog" {
				continue // the next hold is renewed
			}
			t.Run(fmt.Sprintf("%s, taken over=%v", name, again), keeping(func(t *testing.T, fx *fixture) {
				hold, next := fx.keep(t), (*Hold)(nil)
				if again {
					next = fx.lock(t, watched("k"))
				}
				before := fx.calls()
				renew(t, fx, hold)
				synctest.Wait()
				check.Equal(t, fx.calls()-before, 0, "scripts that were called for a hold that has ended")
				if next == nil {
					fx.wantKept(t, hold)
					next = fx.lock(t, watched("k"))
				}
				fx.wantHolders(t, "k", strings.Repeat(hold.Owner()+" ", 3))
				check.Equal(t, next.Owner(), hold.Owner(), "whose lock the next hold is")
				_, err := fx.another(t).Lock(t.Context(), request("k"))
				check.Err(t, "Lock of another client", err, poll.ErrTaken)
				unlock(t, next)
			}))
		}
	}
}

// The answers to a renewal that was sent for what is kept by now are nothing to the hold that takes the lock over.
func TestKeptBesideARenewal(t *testing.T) {
	keeping(func(t *testing.T, fx *fixture) {
		hold := fx.lock(t, watched("k"))
		fx.each(func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		e := entryOf(hold)
		told := during(func() error { return hold.Extend(context.Background(), e, lease) })
		unlock(t, hold)
		next := fx.lock(t, watched("k"))
		check.Err(t, "Extend of what was unlocked meanwhile", <-told, poll.ErrNotHeld)
		check.That(t, next.Owner() == hold.Owner() && next.Check() == nil, "the next hold: %s, %v, want what %s has left", next.Owner(), next.Check(), hold.Owner())
		time.Sleep(time.Second)
		unlock(t, next)
		fx.wantKept(t, next)
	})(t)
}

// What is doubted between the end of a hold and the moment at which it would be kept is not kept.
func TestNotKeptAfterADoubt(t *testing.T) {
	for name, doubt := range map[string]func(*fixture){
		"a master is doubted": func(fx *fixture) { fx.m.Doubted(1) },
		"it hears of nothing": func(fx *fixture) { fx.m.Subscribed(0, false); fx.m.Subscribed(1, false) },
		"somebody wants it":   func(fx *fixture) { fx.m.Wanted(0, "k", fx.Master(0).Holder("k")) },
	} {
		t.Run(name, keeping(func(t *testing.T, fx *fixture) {
			req := watched("k")
			req.Entry = &entry{then: func() { doubt(fx) }}
			unlock(t, fx.lock(t, req))
			fx.wantNothing(t, "then", fx.m)
		}))
	}
}

// A permit is not kept: the client's next caller may begin at another slot.
func TestNoPermitIsKept(t *testing.T) {
	keeping(func(t *testing.T, fx *fixture) {
		unlock(t, fx.lock(t, permit(1)))
		fx.wantHolders(t, script.SlotKey("k", 0), "- - -")
	})(t)
}

// A hold that is one with that of another set is not kept: its next caller would have a lock in this set alone.
func TestNotKeptWhereItIsJoined(t *testing.T) {
	keeping(func(t *testing.T, fx *fixture) {
		second := &fixture{Fleet: redlocktest.Start(t, 3)}
		second.m = second.another(t)
		a, b := fx.lock(t, watched("k")), second.take(t, second.m, "k")
		check.OK(t, Join(t.Context(), a, b))
		unlock(t, a)
		fx.wantNothing(t, "then", fx.m)
		unlock(t, b)
	})(t)
}

// What is kept goes to who stands in the client's line, and not to who comes later.
func TestKeptGoesToTheLine(t *testing.T) {
	keeping(func(t *testing.T, fx *fixture) {
		first := patient("k")
		if hold := fx.m.takeOver(&first, nil); hold != nil {
			t.Fatal("taken over, and nothing is kept")
		}
		fx.keep(t) // before the first stands in the line
		w := fx.m.join(&first)
		later := begin(t, fx.m, patient("k"))
		later.wantWaiting(t, "behind the first")
		hold := fx.m.takeOver(&first, w)
		if hold == nil {
			t.Fatal("the first in the line does not get what is kept")
		}
		unlock(t, hold)
		if fx.m.keeps("k") { // nobody else has asked the masters yet
			t.Error("it is kept though callers of the client wait")
		}
		fx.m.leave(w)
		unlock(t, later.wantHold(t, "after the first"))
	})(t)
}

// What is taken over for a short lease ends with that, though it would have been kept for longer.
func TestTakenOverForAShortLease(t *testing.T) {
	keeping(func(t *testing.T, fx *fixture) {
		fx.keep(t)
		req := patient("k")
		req.Lease = time.Second
		fx.lock(t, req)
		rest(req.Lease)
		req.Entry.(*entry).wantEnded(t, poll.ErrLost)
	})(t)
}

// A caller that comes to its line behind an Unlock takes over what is kept by then: nothing is sent.
func TestKeptIsFoundInTheLine(t *testing.T) {
	keeping(func(t *testing.T, fx *fixture) {
		kept, before := fx.keep(t), fx.calls()
		req := patient("k")
		hold, err := fx.m.wait(t.Context(), &req) // as Lock does, where it came too early to take it over
		if err != nil || hold.Owner() != kept.Owner() {
			t.Fatalf("Lock = %v, %v, want what is kept", hold, err)
		}
		unlock(t, hold)
		synctest.Wait()
		check.Equal(t, fx.calls()-before, 0, "script calls")
	})(t)
}

// A caller that asks for a lock while it is given back asks behind its release: with one client alone, no try is refused.
func TestTryBesideARecall(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		m, gate := fx.gated(t, 0)
		m.Keep(time.Second / 2) // over before a check of the master is due, which would be written first
		synctest.Wait()
		for range 2 { // it knows the scripts
			unlock(t, fx.take(t, m, "k"))
		}
		open := gate.shut()
		rest(time.Second / 2) // its timer has fired
		try := begin(t, m, watched("k"))
		try.wantWaiting(t, "while the release is on its way")
		open()
		hold := try.wantHold(t, "behind the release")
		synctest.Wait()
		unlock(t, hold)
	})(t)
}

// What is on its way to be given back is an operation under way: Close does not disconnect before it is sent.
func TestCloseWaitsForARecall(t *testing.T) {
	for name, recall := range map[string]func(*Masters){
		"its time is over": func(*Masters) { time.Sleep(time.Second + time.Millisecond) },
		"it is wanted": func(m *Masters) {
			go m.Wanted(1, "k", func() string {
				m.mu.Lock()
				defer m.mu.Unlock()
				return m.names["k"].kept.owner.ID
			}())
		},
		"a master is doubted": func(m *Masters) { go m.Doubted(1) },
	} {
		t.Run(name, bubble(3, func(t *testing.T, fx *fixture) {
			m, gate := fx.gated(t, 0)
			m.Keep(time.Second) // over before a check of the master is due, which would be written first
			synctest.Wait()
			unlock(t, fx.take(t, m, "k"))
			open := gate.shut()
			recall(m)
			synctest.Wait()
			closed := during(m.Close)
			open()
			check.Err(t, "Close", <-closed)
			fx.wantNothing(t, "then", m)
		}))
	}
}

// Close gives back what nobody else does any more.
func TestNothingIsRecalledOnceClosed(t *testing.T) {
	keeping(func(t *testing.T, fx *fixture) {
		hold := fx.keep(t)
		fx.m.All.Shut()
		fx.m.Wanted(0, "k", hold.Owner())
		fx.m.Doubted(0)
		fx.wantKept(t, hold)
		for _, d := range fx.m.owners.all() {
			d.step(&attempt.Event{Kind: attempt.End})
		}
		fx.wantNothing(t, "then", fx.m)
		fx.m.All.Disconnect()
		fx.m.watchdog.close()
	})(t)
}

// A client keeps one lock of a name. Another one that it had meanwhile, while the first is on its way to the masters,
// is given back.
func TestKeepsOneOfAName(t *testing.T) {
	keeping(func(t *testing.T, fx *fixture) {
		first := fx.keep(t)
		req := watched("k")
		d := fx.m.newDriver("k", &req, time.Time{}, make(chan struct{}, 1))
		d.mu.Lock()
		d.owner = d.newOwnerLocked()
		d.state.State, d.state.Try, d.state.Token, d.state.Spare, d.state.Until = attempt.Held, 1, 1, 1, clock.Now().Add(lease)
		d.state.Entries = append(d.state.Entries, attempt.Entry{Key: req.Entry, State: attempt.Inside, Wish: req.wish()})
		for i := range 3 {
			d.state.Masters[i].Reached = true
		}
		d.mu.Unlock()
		second, _ := d.take(&req, nil)
		check.Err(t, "Unlock of what no master has", second.Unlock(t.Context(), entryOf(second)), poll.ErrLost)
		fx.wantKept(t, first)
		fx.m.recall()
		fx.wantNothing(t, "then", fx.m)
	})(t)
}

// Close waits for the releases of more than a far master has under way at a time, of what is kept and of what is held.
func TestCloseOfMany(t *testing.T) {
	for _, kept := range []bool{false, true} {
		t.Run(fmt.Sprintf("kept=%v", kept), bubble(1, func(t *testing.T, fx *fixture) {
			const n = 4 * closeAtOnce
			m := fx.another(t)
			if kept {
				m.Keep(lease)
				synctest.Wait()
			}
			for i := range n {
				hold := fx.take(t, m, fmt.Sprint("k", i))
				if kept {
					unlock(t, hold)
				}
			}
			fx.Master(0).Delay(4 * timeout / 10)
			before := fx.Master(0).Calls("EVALSHA")
			check.Err(t, "Close", m.Close())
			check.Equal(t, fx.Master(0).Calls("EVALSHA")-before, n, "releases")
		}))
	}
}

// The error of Close has every hold that it could not give back, and names a few.
func TestCloseNamesAFew(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		const n = 50
		m := fx.another(t)
		for i := range n {
			fx.take(t, m, fmt.Sprint("k", i))
		}
		fx.each((*redlocktest.Master).Freeze, 0, 1)
		start := time.Now()
		err := m.Close()
		check.AtMost(t, time.Since(start), 2*timeout+timeout/2, "two node timeouts and a little more: Close took")
		why, ok := err.(interface{ WrappedErrors() []error })
		if !errors.Is(err, poll.ErrNoQuorum) || !ok || len(why.WrappedErrors()) != n {
			t.Fatalf("Close = %v, want it to have %d holds that no quorum confirmed", err, n)
		}
		text := err.Error()
		check.That(t, len(text) <= 2000 && strings.HasSuffix(text, fmt.Sprintf("and %d more", n-maxNamed)), "Close says, in %d bytes: %s", len(text), text)
	})(t)
}

// What was kept and has gone is forgotten, with its name, and counts as held no more.
func TestKeptIsForgotten(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *fixture){
		"wanted": func(t *testing.T, fx *fixture) {
			call := begin(t, fx.another(t), patient("k"))
			time.Sleep(time.Second)
			unlock(t, call.wantHold(t, "what was kept"))
		},
		"its time is over":     func(*testing.T, *fixture) { time.Sleep(lease / 2) },
		"a master is doubted":  func(_ *testing.T, fx *fixture) { fx.m.Doubted(1) },
		"nothing can be heard": func(_ *testing.T, fx *fixture) { fx.m.Subscribed(0, false); fx.m.Subscribed(1, false) },
		"a try that fails": func(t *testing.T, fx *fixture) {
			fx.seat("b", time.Hour, 0, 1, 2) // by force
			req := request("k")
			req.Shared = true
			fx.wantRefused(t, req, poll.ErrTaken)
			fx.each(func(m *redlocktest.Master) { m.Del("k") })
		},
		"too little is left": func(t *testing.T, fx *fixture) {
			req := request("k")
			req.Lease = 2 * lease
			unlock(t, fx.lock(t, req))
			fx.m.recall()
		},
	} {
		t.Run(name, keeping(func(t *testing.T, fx *fixture) {
			for range 2 { // the second takes over what the first has left
				fx.keep(t)
			}
			check.Equal(t, fx.m.Activity(), node.Holding, "Activity")
			end(t, fx)
			fx.wantNothing(t, "then", fx.m)
			check.Equal(t, fx.m.Activity(), node.Idle, "Activity")
			check.Equal(t, fx.m.parked, 0, "locks that are kept")
		}))
	}
}

// A lock that was kept when the machine fell asleep is given back when that is noticed: the masters may have said
// long ago that it is wanted.
func TestKeptThroughASuspend(t *testing.T) {
	asleep(func(t *testing.T, fx *fixture, suspend func(...*Hold)) {
		fx.m.Keep(lease)
		synctest.Wait()
		fx.keep(t)
		suspend()
		time.Sleep(suspendWatch)
		fx.wantNothing(t, "then", fx.m)
	})(t)
}

// A client keeps so many locks, and no more.
func TestKeepsSoMany(t *testing.T) {
	keeping(func(t *testing.T, fx *fixture) {
		for parked, want := range map[int]bool{maxKept - 1: true, maxKept: false} {
			hold := fx.lock(t, watched("k"))
			fx.m.mu.Lock()
			fx.m.parked += parked
			fx.m.mu.Unlock()
			unlock(t, hold)
			synctest.Wait()
			check.Equal(t, fx.m.keeps("k"), want, "kept with %d others", parked)
			fx.m.mu.Lock()
			fx.m.parked -= parked
			fx.m.mu.Unlock()
			fx.m.recall()
			fx.wantNothing(t, "then", fx.m)
		}
	})(t)
}

// TestRangeIsThatOfScripts: a client that keeps a lock counts as many fencing tokens as masters leave it.
func TestRangeIsThatOfScripts(t *testing.T) {
	check.That(t, attempt.Range == script.TokenRange, "the machine counts %d fencing tokens, and scripts %d", attempt.Range, script.TokenRange)
}
