package multilock

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/internal/bent"
	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// The queue of a client's callers that wait for one lock.

// TestWhoBids: the first in the line bids. Readers next to each other bid together, with the first writer behind them,
// which keeps later readers out.
func TestWhoBids(t *testing.T) {
	for _, tt := range []struct{ callers, bid, then string }{ // then: those who bid when the first has left
		{"ww", "w", "w"},
		{"wrrwr", "w", "rrw"},
		{"rwr", "rw", "w"},
		{"rrwrw", "rrw", "rw"},
	} {
		var l line
		bid := func() (all string) {
			for _, w := range l.waiters[:l.bids] {
				all += w.req.Key
			}
			return all
		}
		for _, what := range tt.callers {
			l.insert(&waiter{req: Request{Key: string(what), Shared: what == 'r'}})
		}
		check.Equal(t, bid(), tt.bid, "of %s bid", tt.callers)
		l.remove(l.waiters[0])
		check.Equal(t, bid(), tt.then, "of %s bid when the first has left", tt.callers)
	}
}

// A caller that began to wait earlier comes before those that do not bid yet, and not before those that do: they have asked.
func TestWhoBeganEarlier(t *testing.T) {
	var l line
	now, order := clock.Now(), ""
	for i, key := range []string{"bids", "late", "early"} {
		l.insert(&waiter{req: Request{Key: key, Since: now.Add(time.Duration(i%2-i/2) * time.Second)}})
	}
	for _, w := range l.waiters {
		order += w.req.Key + " "
	}
	check.Equal(t, order, "bids early late ", "the line")
}

// Callers are served in the order of their calls.
func TestCallersAreServedInOrder(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		const n = 10
		var calls []*call
		for range n {
			calls = append(calls, begin(t, fx.m, patient("k")))
		}
		for i, c := range calls {
			if i == 0 {
				time.Sleep(time.Second) // subscribed
			}
			unlock(t, hold)
			hold = c.wantHold(t, fmt.Sprintf("caller %d", i))
			for _, later := range calls[i+1:] {
				later.wantWaiting(t, "those behind it")
			}
		}
		unlock(t, hold)
		fx.wantNothing(t, "after all", fx.m)
	})(t)
}

// A caller that leaves is followed by the next one, which the same script call enters: its turn comes only then.
func TestWhoLeavesEntersTheNextCaller(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Hour, 0, 1, 2)
		m := fx.another(t)
		deafen(m)
		first, second := begin(t, m, patient("k")), begin(t, m, patient("k"))
		owners := fx.queues()
		before := fx.calls()
		next, early := m.names["k"].line.waiters[1], false
		m.All.HoldUp = func(Set) { early = early || next.bids() }
		first.cancel()
		first.wantError(t, "it leaves", context.Canceled, poll.ErrTaken)
		m.All.HoldUp = nil
		check.Equal(t, early, false, "the turn of the next caller comes before the release is sent")
		check.Equal(t, fx.calls()-before, 3, "script calls, one on each master")
		for i, q := range fx.queues() {
			check.That(t, q != "" && q != owners[i] && !strings.Contains(q, ","), "queue of m%d = %q after %q, want the next caller", i+1, q, owners[i])
		}
		second.wantWaiting(t, "behind the holder")
	})(t)
}

// The caller behind one that leaves asks all masters at once, also one that gets no release, since it was down.
func TestTheNextCallerAsksAMasterThatIsBack(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Hour, 0, 1, 2)
		m := fx.another(t)
		deafen(m)
		fx.Master(2).Kill()
		synctest.Wait()
		first := begin(t, m, patient("k"))
		begin(t, m, patient("k"))
		fx.Master(2).RestartWithData()
		for m.All.Nodes[2].Down() {
			rest(time.Millisecond)
		}
		check.Equal(t, fx.queues()[2], "", "who waits at the master that is back")
		first.cancel()
		synctest.Wait()
		check.That(t, fx.queues()[2] != "", "nobody waits at the master that is back, want the next caller")
	})(t)
}

// TestCostOfAHandOver: a hold that is over soon is handed to the client's next caller by its release alone, which enters
// that caller. Where a master is not released since it is known to have nothing, that caller asks.
func TestCostOfAHandOver(t *testing.T) {
	for name, c := range map[string]struct{ down, calls int64 }{
		"all masters":      {0, 3},
		"a master is down": {1, 4},
	} {
		t.Run(name, bubble(3, func(t *testing.T, fx *fixture) {
			if c.down > 0 {
				fx.Master(2).Kill()
				synctest.Wait()
			}
			hold := fx.take(t, fx.m, "k")
			calls := []*call{begin(t, fx.m, patient("k")), begin(t, fx.m, patient("k"))}
			time.Sleep(time.Second) // subscribed
			unlock(t, hold)
			hold = calls[0].wantHold(t, "the next caller")
			before := fx.calls()
			unlock(t, hold)
			hold = calls[1].wantHold(t, "the one behind it")
			check.Equal(t, fx.calls()-before, c.calls, "script calls")
			unlock(t, hold)
		}))
	}
}

// A renewal that is due soon takes along who begins to wait for the lock meanwhile, and has asked nobody yet. It is due
// by the client's clock that counts for how long the machine stood still.
func TestARenewalTakesCallersAlong(t *testing.T) {
	for _, missed := range []time.Duration{0, time.Minute} {
		t.Run(fmt.Sprint(missed), bubble(3, func(t *testing.T, fx *fixture) {
			fx.m.lag.missed.Store(int64(missed))
			holder := fx.take(t, fx.another(t), "k")
			c := begin(t, fx.m, patient("k"))
			time.Sleep(time.Second)
			unlock(t, holder)
			hold, next := c.wantHold(t, "handed off"), begin(t, fx.m, patient("k"))
			before := strings.Join(fx.queues(), "")
			rest(attempt.Usual.TopUp)
			for i, q := range fx.queues() {
				if before != "" || !strings.HasPrefix(q, fx.m.owners.client) {
					t.Errorf("queue of m%d = %q with the renewal, and there was %q before; want the caller then, and nobody before", i+1, q, before)
				}
			}
			next.cancel()
			unlock(t, hold)
		}))
	}
}

// The callers that a renewal takes along are sent before it, in the same write: their entries are in the queue when it is made.
func TestARenewalComesBehindTheCallersThatItTakesAlong(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		m, gate := fx.gated(t, 0)
		holder := fx.take(t, fx.m, "k")
		c := begin(t, m, patient("k"))
		time.Sleep(time.Second)
		unlock(t, holder)
		hold, next := c.wantHold(t, "handed off"), begin(t, m, patient("k"))
		before := len(gate.passed())
		rest(attempt.Usual.TopUp)
		calls := strings.Join(gate.passed()[before:], "")
		asks, renews := strings.Index(calls, fx.queues()[0]), strings.Index(calls, hold.Owner())
		check.That(t, 0 <= asks && asks < renews, "the next caller asks at %d of what is sent, and the hold is renewed at %d; want it to ask before", asks, renews)
		next.cancel()
		unlock(t, hold)
	})(t)
}

// A caller that gives back the votes that it got, and asks as another owner, is not told that it has the lock itself.
func TestNobodyWaitsForItself(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Hour, 1, 2)
		c := begin(t, fx.m, patient("k"))
		rest(50 * time.Millisecond)
		c.cancel()
		c.wantError(t, "it leaves", context.Canceled, poll.ErrTaken)
		check.That(t, !strings.Contains(c.err.Error(), fx.m.All.ID), "Lock = %v, want no word of an owner of its own", c.err)
	})(t)
}

// A caller that has the lock, and is yet to leave the line, does not ask again when another one of its client sends
// something about its own hold: readers are handed a lock at one instant. One that gives up what it asked for, to look
// again, keeps its place: the release enters it anew.
func TestACallerThatHasTheLockAsksNoMore(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.m.subscribe()
		time.Sleep(time.Second)
		req := patient("k")
		req.Shared = true
		w := fx.m.join(&req)
		fx.m.contend(w)
		synctest.Wait()
		fx.m.dropAll(w, nil)
		synctest.Wait()
		check.Equal(t, len(w.drivers), 1, "drivers of a caller that is to look again")
		hold, err := fx.m.won(t.Context(), w)
		check.OK(t, err)
		fx.m.startNext("k", nil)
		check.Equal(t, len(w.drivers), 0, "drivers of a caller that has the lock")
		fx.m.leave(w)
		unlock(t, hold)
		fx.wantNothing(t, "after the release", fx.m)
	})(t)
}

// Nobody is entered who could not be told of a hand-off: the masters would give the lock to nobody,
// and the others would wait for that.
func TestNobodyIsEnteredWhoCannotBeTold(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		m := fx.another(t)
		deafen(m)
		req := patient("k")
		w := m.join(&req)
		for _, work := range []Set{0b000, 0b010, 0b110} {
			m.subs.work.Store(uint32(work))
			m.startNext("k", nil)
			check.Equal(t, len(w.drivers) > 0, m.All.Majority(work.Len()), "the next one asks where %03b can tell", work)
		}
		m.leave(w)
		synctest.Wait()
		wantForgotten(t, "after it left", m)
	})(t)
}

// What was given up before it began enters no queue, and asks nobody. It leaves nothing.
func TestWhatIsGivenUpBeforeItBegan(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		m := fx.another(t)
		deafen(m)
		hold := fx.take(t, m, "k")
		d, before := newWaiting(m), fx.calls()
		d.giveUp()
		d.startAhead()
		d.start()
		check.Equal(t, fx.calls()-before, 0, "script calls")
		unlock(t, hold)
		fx.wantNothing(t, "after the release", m)
	})(t)
}

// A caller that waits for a hold of its own client stands in the queue like any other, asks seldom, and
// says what it waits for when it leaves.
func TestWaitingForAHoldOfTheClient(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.m.subscribe()
		time.Sleep(time.Second)
		fx.lock(t, watched("k"))
		c := begin(t, fx.m, patient("k"))
		time.Sleep(time.Second)
		for i, q := range fx.queues() {
			check.That(t, strings.HasPrefix(q, fx.m.owners.client), "queue of m%d = %q, want the caller", i+1, q)
		}
		before := fx.calls()
		time.Sleep(5 * time.Second)
		check.Between(t, fx.calls()-before, 3*(4+1), 3*(5+1), "script calls in 5s, one a second on each master, and a renewal")
		c.cancel()
		c.wantError(t, "it leaves", context.Canceled, poll.ErrTaken)
		check.Says(t, c.err, "taken by another owner: held by another caller of this client", "Lock")
	})(t)
}

// A reader does not wait for the renewal of another one of its client, which was handed the lock a moment ago.
func TestAReaderBesideAReaderOfTheClient(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.m.subscribe()
		time.Sleep(time.Second)
		writer := fx.take(t, fx.another(t), "k")
		read := func() *call {
			req := patient("k")
			req.Shared, req.Watch = true, true
			return begin(t, fx.m, req)
		}
		first := read()
		time.Sleep(time.Second)
		unlock(t, writer)
		hold := first.wantHold(t, "it was handed over")
		unlock(t, read().wantHold(t, "at once"))
		unlock(t, hold)
	})(t)
}

// While masters that restarted grant nothing, those who come are entered into their queues: the lock goes to them
// in their order when that is over, and not to whoever asks first then.
func TestOrderAfterAGuard(t *testing.T) {
	const guard = 10 * time.Second
	guarded(3, guard, func(t *testing.T, fx *fixture) {
		var clients []*Masters
		for range 6 {
			clients = append(clients, fx.client(t, node.Config{Guard: guard}))
		}
		time.Sleep(2 * time.Second)
		fx.each((*redlocktest.Master).Restart)
		time.Sleep(time.Second)
		var calls []*call
		for _, m := range clients {
			calls = append(calls, begin(t, m, patient("k")))
			time.Sleep(700 * time.Millisecond)
		}
		check.Equal(t, len(strings.Split(fx.queues()[0], ",")), len(clients), "waiters in the queue of a guarded master")
		fx.wantHolders(t, "k", "- - -")
		time.Sleep(guard)
		for i, c := range calls {
			hold := c.wantHold(t, fmt.Sprint("number ", i))
			if i+1 < len(calls) {
				calls[i+1].wantWaiting(t, fmt.Sprint("behind number ", i))
			}
			unlock(t, hold)
		}
	})(t)
}

// Whatever a client sends about its own hold comes behind the entries of its callers in the queues: who asks
// later, of another client, comes later. It is so where the hold was handed off a moment ago, and where it
// becomes a reader's, is taken away by force, or is healed at a master that forgot it.
func TestOwnCallersComeFirst(t *testing.T) {
	giveBack := func(t *testing.T, _ *fixture, h *Hold) { unlock(t, h) }
	downgrade := func(t *testing.T, _ *fixture, h *Hold) {
		check.Err(t, "Downgrade", h.Downgrade(t.Context(), entryOf(h)))
		time.Sleep(time.Second)
		unlock(t, h)
	}
	for _, tt := range []struct {
		what string
		let  func(*testing.T, *fixture, *Hold)
		age  time.Duration
	}{
		{"given back at once", giveBack, 0},
		{"given back before it is renewed", giveBack, 15 * time.Millisecond},
		{"given back", giveBack, time.Second},
		{"downgraded at once", downgrade, 0},
		{"downgraded before it is renewed", downgrade, 15 * time.Millisecond},
		{"downgraded", downgrade, time.Second},
		{"forced", func(_ *testing.T, fx *fixture, h *Hold) {
			fx.m.All.Send(script.Force("k", h.Token()), fx.m.All.Set(), poll.Nobody)
		}, time.Second},
		{"healed and given back", func(t *testing.T, fx *fixture, h *Hold) {
			fx.Master(0).FlushAll()
			time.Sleep(lease / 2)
			unlock(t, h)
		}, time.Second},
	} {
		for name, readers := range map[string]int{"writer": 0, "writer behind readers": 2} {
			t.Run(name+", "+tt.what, bubble(3, func(t *testing.T, fx *fixture) {
				other := fx.another(t)
				fx.m.subscribe()
				other.subscribe()
				time.Sleep(time.Second)
				wait := func(m *Masters, reads bool) *call {
					req := patient("k")
					req.Shared, req.Watch = reads, true
					time.Sleep(time.Millisecond)
					return begin(t, m, req)
				}
				first := fx.take(t, other, "k")
				handed := wait(fx.m, false)
				var own []*call
				for range readers {
					own = append(own, wait(fx.m, true))
				}
				own = append(own, wait(fx.m, false))
				later := wait(other, true)
				time.Sleep(time.Second)
				unlock(t, first)
				hold := handed.wantHold(t, "it waited for longest")
				time.Sleep(tt.age)
				tt.let(t, fx, hold)
				for i, c := range own {
					time.Sleep(time.Second)
					later.wantWaiting(t, fmt.Sprintf("behind caller %d", i))
					unlock(t, c.wantHold(t, fmt.Sprintf("caller %d", i)))
				}
				time.Sleep(time.Second)
				unlock(t, later.wantHold(t, "in the end"))
			}))
		}
	}
}

// A caller that a command about its client's hold is to start asks nevertheless where nothing can tell the client any
// more, and so no command starts it: the subscriptions broke, and the hold was given back.
func TestACallerIsStartedInSilence(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		other := fx.another(t)
		first := begin(t, other, patient("k"))
		time.Sleep(time.Second) // subscribed
		unlock(t, hold)
		second := begin(t, other, patient("k"))
		hold = first.wantHold(t, "it was handed off")
		second.wantWaiting(t, "a renewal is due")
		other.subs.work.Store(0)
		unlock(t, hold)
		time.Sleep(time.Second)
		unlock(t, second.wantHold(t, "nobody has it"))
	})(t)
}

// Waiting for a lock: when it is won, what is asked meanwhile, and when nobody can win it.

// Where a subscription begins or breaks, messages may have been lost: a caller asks.
func TestAsksWhenMessagesMayBeLost(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Hour, 0, 1, 2)
		m := fx.another(t)
		deafen(m)
		m.All.Greet(t.Context())
		before := fx.Master(0).Calls("EVALSHA")
		m.subs.work.Store(0)
		begin(t, m, patient("k"))
		want := int64(1)
		for _, tt := range []struct {
			name  string
			i     int
			on    bool
			after time.Duration
		}{
			{"one works, and others soon will", 0, true, 2 * gather},
			{"it breaks", 0, false, 2 * time.Millisecond},
			{"one works again", 0, true, 2 * gather},
			{"two work", 1, true, 2 * gather},
			{"all work", 2, true, 2 * time.Millisecond},
		} {
			m.Subscribed(tt.i, tt.on)
			rest(tt.after)
			want++
			check.Equal(t, fx.Master(0).Calls("EVALSHA")-before, want, "%s: rounds after %v", tt.name, tt.after)
		}
	})(t)
}

// A caller that gives up before any master has answered it says what others of its client found out: who has the lock,
// but not an outage that is over.
func TestReasonsOfOthers(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		held := fx.take(t, fx.another(t), "k")
		var calls []*call
		for range 5 {
			calls = append(calls, begin(t, fx.m, patient("k")))
		}
		first, second, third, fourth, fifth := calls[0], calls[1], calls[2], calls[3], calls[4]
		time.Sleep(time.Second)
		fx.each(func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
		first.cancel()
		synctest.Wait()
		second.cancel()
		synctest.Wait()
		why, ok := errors.AsType[*poll.MajorityError](second.err)
		check.That(t, ok && why.Holder == held.Owner(), "behind one that left = %v, want it to name %s", second.err, held.Owner())
		fx.each((*redlocktest.Master).Freeze)
		time.Sleep(time.Second)
		third.cancel()
		third.wantError(t, "in an outage", poll.ErrNoQuorum)
		fx.each((*redlocktest.Master).Thaw)
		time.Sleep(time.Second)
		fx.each(func(m *redlocktest.Master) { m.Delay(0) })
		unlock(t, held)
		hold := fourth.wantHold(t, "after it")
		fifth.cancel()
		fifth.wantError(t, "behind it", poll.ErrTaken)
		check.NotErr(t, "Lock after the outage", fifth.err, poll.ErrNoQuorum)
		unlock(t, hold)
	})(t)
}

// A master that does not know the holder grants the lock, and tells of it when the caller gives that vote back: this
// does not make the caller ask again at once.
func TestAWaiterDoesNotHearItself(t *testing.T) {
	for _, tt := range []struct {
		name, key, holder string
		permits           int
	}{
		{"a permit", script.SlotKey("k", 0), id("x"), 1},
		{"a lock", "k", id("x"), 0},
		{"what one of Redisson's clients has", "k", "8743c9c0-0795-4907-87fd-6c719a6b4586:17", 0},
	} {
		t.Run(tt.name, bubble(3, func(t *testing.T, fx *fixture) {
			for i := range 2 {
				fx.Master(i).HSet(tt.key, tt.holder, "1")
			}
			req := permit(tt.permits)
			before := fx.calls()
			for range 3 {
				req.Entry = new(entry)
				defer begin(t, fx.another(t), req).cancel()
			}
			time.Sleep(10 * time.Second)
			check.AtMost(t, (fx.calls()-before)/3/3, 40, "script calls of each of three callers on each master in ten seconds")
		}))
	}
}

// What Redisson's clients publish is subscribed to while a caller waits for one of them, and no
// longer, however that ends.
func TestRedissonsChannelIsLeft(t *testing.T) {
	for name, end := range map[string]func(*fixture, *driver){
		"given up": func(_ *fixture, d *driver) { d.giveUp() },
		"won": func(fx *fixture, d *driver) {
			fx.each(func(m *redlocktest.Master) { m.Del("k") })
			time.Sleep(time.Second)
			wantWon(t, "when it is free", d)
		},
		"hopeless": func(fx *fixture, _ *driver) {
			fx.each(func(m *redlocktest.Master) { m.Set("k", "no lock") })
			time.Sleep(time.Second)
		},
	} {
		t.Run(name, bubble(3, func(t *testing.T, fx *fixture) {
			fx.m.subscribe()
			time.Sleep(time.Second)
			fx.seat("8743c9c0-0795-4907-87fd-6c719a6b4586:17", time.Minute, 0, 1, 2)
			before := fx.Master(1).Calls("SUBSCRIBE")
			c := asked(fx.m)
			check.Equal(t, fx.Master(1).Calls("SUBSCRIBE")-before, 1, "subscriptions")
			time.Sleep(time.Second) // and several rounds
			end(fx, c)
			synctest.Wait()
			check.Equal(t, fx.Master(1).Calls("SUBSCRIBE")-before, 1, "subscriptions in the end")
			check.Equal(t, fx.Master(1).Calls("UNSUBSCRIBE"), 1, "subscriptions that were ended")
			fx.m.watch("k") // as another caller would
			synctest.Wait()
			c.giveUp()
			synctest.Wait()
			check.Equal(t, fx.Master(1).Calls("UNSUBSCRIBE"), 1, "subscriptions that were ended, beside that of another")
			fx.m.unwatch("k")
		}))
	}
}

// The first caller of a client that waits is in the queue before the client is subscribed. It keeps its place:
// what is handed off to it meanwhile it finds when it asks.
func TestFirstToWaitKeepsItsPlace(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		holder := fx.take(t, fx.m, "k")
		early, later := fx.another(t), fx.another(t)
		for _, m := range []*Masters{early, later} {
			unlock(t, fx.take(t, m, "other")) // which tells them the time
		}
		later.subscribe()
		time.Sleep(time.Second)
		fx.each(func(m *redlocktest.Master) { m.Delay(40 * time.Millisecond) })
		first := begin(t, early, patient("k"))
		time.Sleep(10 * time.Millisecond)
		second := begin(t, later, patient("k"))
		time.Sleep(10 * time.Millisecond) // its release comes last, and before the first has subscribed
		unlock(t, holder)
		time.Sleep(time.Second)
		second.wantWaiting(t, "behind the first")
		unlock(t, first.wantHold(t, "first"))
		time.Sleep(time.Second)
		unlock(t, second.wantHold(t, "after it"))
	})(t)
}

// A client that one master cannot tell of hand-offs shares a lock with others at once, also where another master grants
// nothing: the two that are left would hand it to different clients.
func TestOneThatAMasterCannotTellIsHandedItThere(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		pools := fx.Pools()
		pools[0] = bent.Reply(pools[0], "SUBSCRIBE", redis.Error("ERR max number of clients reached"))
		deaf := connect(fx.Fleet, pools, node.Config{})
		t.Cleanup(func() { deaf.Close() })
		fx.each(func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		fx.Master(2).Fill(true)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		turn := func(m *Masters) error {
			for range 20 {
				hold, err := m.Lock(ctx, patient("k"))
				if err != nil {
					return err
				}
				time.Sleep(5 * time.Millisecond)
				if err := hold.Unlock(ctx, entryOf(hold)); err != nil {
					return err
				}
			}
			return nil
		}
		other := during(func() error { return turn(fx.m) })
		check.OK(t, turn(deaf), "20 turns of the client that a master cannot tell")
		check.OK(t, <-other, "20 turns of the other client")
		fx.Master(2).Kill()
		rest(time.Second)
		check.That(t, fx.m.hearsAll() && !deaf.hearsAll(), "one hears from all masters that are up: %v, %v, want the first alone", fx.m.hearsAll(), deaf.hearsAll())
	})(t)
}

// A hold that was handed off, and whose token the masters had to agree on, ends when its validity does, whatever its timer
// was set for while it waited.
func TestHandedOffEndsInTime(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		holder := fx.take(t, fx.another(t), "k")
		c := begin(t, fx.m, patient("k"))
		time.Sleep(time.Second)
		for i, m := range fx.Masters() {
			m.Set("redlock_fence:{k}", fmt.Sprint(7_000_000_000_000_000+10*int64(i)))
		}
		fx.each(func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		unlock(t, holder)
		time.Sleep(50 * time.Millisecond)
		check.AtLeast(t, c.wantHold(t, "handed off").Token(), 7_000_000_000_000_010, "the token")
		rest(lease)
		c.entry.wantEnded(t, poll.ErrLost)
	})(t)
}

// A caller that wants what nobody has gets it, or is told that there was no quorum, though the context ends as the masters answer.
func TestTheContextEndsAtTheMajority(t *testing.T) {
	free := func(t *testing.T, fx *fixture, req Request) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Millisecond)
		defer cancel()
		hold, err := fx.m.Lock(ctx, req)
		switch {
		case err == nil:
			check.OK(t, hold.Unlock(t.Context(), req.Entry))
		case !errors.Is(err, poll.ErrNoQuorum) || errors.Is(err, poll.ErrTaken) || errors.Is(err, poll.ErrClosed):
			t.Errorf("Lock = %v, want ErrNoQuorum", err)
		}
	}
	for name, req := range map[string]Request{"TryLock": {}, "Lock": {Wait: true}, "permit": {Wait: true, Permits: 1}} {
		t.Run(name, bubble(3, func(t *testing.T, fx *fixture) {
			fx.each(func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
			for range 300 {
				req.Key, req.Lease, req.Entry = "k", lease, new(entry)
				free(t, fx, req)
				time.Sleep(10 * time.Millisecond)
			}
		}))
	}
}
