package multilock

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// Where callers stand that want a permit, and what they are told.

// Callers that wait for permits look once, and again from time to time. Nothing is known of the semaphore any more when
// none has waited for a while.
func TestCallersForPermitsLookSeldom(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		const permits, callers = 2, 4
		for i := range permits {
			fx.each(func(m *redlocktest.Master) { m.HSet(script.SlotKey("k", i), id("x"), "1") })
		}
		req := permit(permits)
		before := fx.calls()
		var calls []*call
		for range callers {
			req.Entry = new(entry)
			calls = append(calls, begin(t, fx.m, req))
		}
		time.Sleep(10 * time.Second)
		check.AtMost(t, (fx.calls()-before)/3, 50*callers, "script calls on each master in ten seconds of %d callers", callers)
		for _, c := range calls {
			c.cancel()
		}
		unsubscribed := fx.Master(0).Calls("UNSUBSCRIBE")
		time.Sleep(lingers + time.Second)
		fx.m.mu.Lock()
		defer fx.m.mu.Unlock()
		got := fx.Master(0).Calls("UNSUBSCRIBE") - unsubscribed
		check.That(t, len(fx.m.names) == 0 && got == 1, "%d semaphores are known, and %d channels were left; want none, and one", len(fx.m.names), got)
	})(t)
}

// A permit that is there costs a lock's calls: nobody looks for another, nor listens.
func TestAPermitThatIsThere(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		before := fx.calls()
		begin(t, fx.m, permit(2)).wantHold(t, "nobody else wants one")
		time.Sleep(time.Second)
		check.Equal(t, fx.calls()-before, 3, "script calls on three masters")
		check.Equal(t, fx.Master(0).Calls("SUBSCRIBE"), 0, "SUBSCRIBE calls")
	})(t)
}

// look has the client look at a semaphore.
func (fx *fixture) look(s *semaphore) {
	<-fx.m.lookAt(s)
	fx.m.mu.Lock()
	defer fx.m.mu.Unlock()
	fx.m.sawLocked(s)
}

// What a look showed to a caller that left before it ended is old: the next caller looks itself.
func TestALookThatNobodySawIsNotUsed(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		for slot := range 2 {
			fx.each(func(m *redlocktest.Master) { m.HSet(script.SlotKey("k", slot), id("x"), "1") })
		}
		fx.each(func(m *redlocktest.Master) { m.Delay(4 * time.Millisecond) })
		first := begin(t, fx.m, permit(2))
		rest(12 * time.Millisecond) // it was refused, and looks
		first.cancel()
		rest(time.Second)
		fx.each(func(m *redlocktest.Master) { m.Del(script.SlotKey("k", 1)) }) // which no message tells
		fx.m.nextSlot.given = []string{script.SlotKey("k", 0)}
		second := begin(t, fx.m, permit(2))
		rest(50 * time.Millisecond)
		second.wantHold(t, "a slot is free")
	})(t)
}

// A look covers the slots of all callers that stand: one that counts fewer permits hides none from the others. The first of
// those that know its slots looks for it.
func TestALookIsForAllThatStand(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		few := fx.stander(1)
		defer fx.m.delist(few)
		defer func(looked <-chan struct{}) { <-looked }(fx.m.lookAt(few.semaphore)) // under way, and too short for the other
		many := fx.stander(3)
		defer fx.m.delist(many)
		fx.look(few.semaphore)
		check.Equal(t, len(few.semaphore.slots.load), many.req.Permits, "slots that are known")
		line := &fx.m.names[few.line].line
		line.waiters = []*waiter{many, few}
		check.That(t, fx.m.isFirst(many) && !fx.m.isFirst(few), "one that counts fewer permits, and came later, looks from time to time")
		line.waiters = nil
	})(t)
}

// A permit that the client gives back goes to its next caller at once, also where no master can tell the client of it.
func TestAPermitIsGivenBackInSilence(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.m.subs.begin.Do(func() {}) // it does not subscribe
		hold := fx.lock(t, permit(1))
		next := begin(t, fx.m, permit(1))
		rest(3 * time.Second) // it asks seldom by now
		unlock(t, hold)
		rest(attempt.Usual.Settle * 2)
		unlock(t, next.wantHold(t, "the slot is free"))
	})(t)
}

// A caller that counts more permits than those before it in the client's line finds the slots that they do not know.
func TestACallerFindsSlotsThatThoseBeforeItDoNotKnow(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		for slot := range 2 {
			fx.each(func(m *redlocktest.Master) { m.HSet(script.SlotKey("k", slot), id("x"), "1") })
		}
		fx.m.nextSlot.given = []string{script.SlotKey("k", 1), script.SlotKey("k", 0)}
		first := begin(t, fx.m, permit(2)) // at slot 0, and has just looked
		second := begin(t, fx.m, permit(3))
		rest(time.Second)
		second.wantHold(t, "the third slot is free")
		first.wantWaiting(t, "the first two are taken")
	})(t)
}

// A caller that counts more permits than those before it in the client's line does not wait for their turns.
func TestACallerNeedsNoTurnOfThoseThatCountFewerPermits(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.each(func(m *redlocktest.Master) { m.HSet(script.SlotKey("k", 0), id("x"), "1") })
		first, second := begin(t, fx.m, permit(1)), begin(t, fx.m, permit(1))
		begin(t, fx.m, permit(2)).wantHold(t, "a slot is free")
		first.wantWaiting(t, "its only slot is taken")
		first.cancel()
		fx.each(func(m *redlocktest.Master) { m.Del(script.SlotKey("k", 0)) })
		rest(time.Second)
		second.wantHold(t, "its only slot is free")
	})(t)
}

// stander makes a caller for one of the permits.
func (fx *fixture) stander(permits int) *waiter {
	req := Request{Key: "k", Permits: permits, Lease: lease, Entry: new(entry)}
	w := &waiter{req: req, line: req.line(), told: make(chan struct{}, 1)}
	fx.m.enlist(w)
	return w
}

// leaves makes a caller of stander leave.
func (fx *fixture) leaves(w *waiter) {
	fx.m.dropAll(w, nil)
	fx.m.delist(w)
}

// A hint goes to nobody if one stands there already, and from a caller that leaves to one that stands.
func TestAHintOutlivesItsCaller(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		all := []*waiter{fx.stander(2), fx.stander(2)}
		s := all[0].semaphore
		all[1].drivers = []*driver{{slot: 1}}
		s.hintLocked(1)
		check.That(t, all[0].hint < 0, "a caller is to go where another one stands")
		all[1].drivers = nil
		s.hintLocked(1)
		check.Equal(t, all[0].hint, 1, "the hint of the caller that has waited the longest")
		s.hintLocked(1)
		check.That(t, all[1].hint < 0, "a caller is to go where another one goes")
		fx.m.delist(all[0])
		check.That(t, all[1].hint == 1 && len(all[1].told) == 1, "the hint of the other is %d, and it is woken %d times; want 1 and once", all[1].hint, len(all[1].told))
		fx.m.delist(all[1])
	})(t)
}

// A caller that has tried a slot and not got it, though nobody has it, tries none before the next look: it gave back
// what votes it got, and would take that for a hint.
func TestAHintIsFollowedOnce(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		p := fx.stander(2)
		defer fx.leaves(p)
		follows := func(slot int) bool {
			synctest.Wait()
			p.hint = slot
			fx.m.follow(p)
			synctest.Wait()
			return len(p.drivers) > 0
		}
		fx.each(func(m *redlocktest.Master) { m.Refuse("LOADING Redis is loading the dataset in memory") }, 0, 1)
		check.Equal(t, follows(1), true, "the first hint is followed")
		if hold, err := fx.m.won(t.Context(), p); hold != nil || err != nil || len(p.drivers) > 0 {
			t.Fatalf("won = %v, %v, with %d stands; want nothing", hold, err, len(p.drivers))
		}
		check.Equal(t, follows(1), false, "a hint is followed after votes that did not count")
		fx.look(p.semaphore)
		check.Equal(t, follows(1), true, "a hint is followed after a look")
	})(t)
}

// A caller that has yet to hear whether its slot is free tries no other: there it would be in the way of a caller of the
// client that has just freed it.
func TestACallerThatHasJustAskedFollowsNoHint(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.each(func(m *redlocktest.Master) {
			m.HSet(script.SlotKey("k", 0), id("x"), "1")
			m.Delay(time.Millisecond)
		})
		p := fx.stander(2)
		defer fx.leaves(p)
		fx.m.goTo(p, 0, true)
		p.hint = 1
		fx.m.follow(p)
		check.Equal(t, len(p.drivers), 1, "slots, when it has just asked for one")
		rest(10 * time.Millisecond)
		fx.m.follow(p)
		check.Equal(t, len(p.drivers), 2, "slots, when that is taken")
	})(t)
}

// A client that no longer has to look for free slots stops listening to what becomes of them, though it goes on taking
// permits.
func TestAClientThatFindsPermitsStopsListening(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		for slot := range 2 {
			fx.each(func(m *redlocktest.Master) { m.HSet(script.SlotKey("k", slot), id("x"), "1") })
		}
		fx.m.nextSlot.given = []string{script.SlotKey("k", 0)}
		for range (lingers + time.Second) / (100 * time.Millisecond) {
			c := begin(t, fx.m, permit(3))
			time.Sleep(100 * time.Millisecond)
			unlock(t, c.wantHold(t, "a slot is free"))
		}
		check.Equal(t, fx.Master(0).Calls("UNSUBSCRIBE"), 1, "UNSUBSCRIBE calls")
	})(t)
}

// A client that has to look from time to time goes on listening.
func TestAClientThatLooksGoesOnListening(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		p := fx.stander(3)
		defer fx.leaves(p)
		for range 3 {
			<-fx.m.lookAt(p.semaphore)
			rest(lingers - time.Second)
			check.Equal(t, fx.Master(0).Calls("UNSUBSCRIBE"), 0, "UNSUBSCRIBE calls soon after a look")
		}
		rest(2 * time.Second)
		check.Equal(t, fx.Master(0).Calls("UNSUBSCRIBE"), 1, "UNSUBSCRIBE calls long after it")
	})(t)
}

// A caller whose permit has ended before it came to take it asks for another one, and not in a hurry.
func TestACallerThatLostItsOnlySlotAsksAnew(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		held := fx.lock(t, permit(1))
		c := begin(t, fx.m, permit(1))
		p := fx.m.names[script.Slots("k")].semaphore.standing[0]
		d := p.drivers[0]
		d.mu.Lock()
		d.decided = make(chan struct{}, 1) // it is held up, and hears nothing
		d.mu.Unlock()
		unlock(t, held)
		wantWon(t, "the slot is given back", d)
		time.Sleep(lease)
		before := fx.calls()
		poke(p.told)
		c.wantWaiting(t, "its permit has ended")
		time.Sleep(time.Second)
		unlock(t, c.wantHold(t, "a second later"))
		check.AtMost(t, (fx.calls()-before)/3, 5, "script calls on each master")
	})(t)
}

// A caller that has won, and gives up since the masters are away and its client is established no more, says that.
func TestACallerThatWonIsCutOff(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		m := fx.introduced(t)
		fx.each(func(m *redlocktest.Master) { m.HSet(script.SlotKey("k", 0), id("x"), "1") })
		c := begin(t, m, permit(1))
		fx.each((*redlocktest.Master).Kill)
		rest(5 * time.Second)
		d := m.names[script.Slots("k")].semaphore.standing[0].drivers[0]
		round := uint64(d.state.Round) - d.owner.Round(script.HandOff{})
		for i := range 2 {
			d.handedOff(i, script.HandOff{Owner: d.owner.ID, Key: d.key, Round: round, Token: 9})
		}
		wantWon(t, "handed off", d)
		c.wantWaiting(t, "before it is established")
		c.cancel()
		c.wantError(t, "then", context.Canceled, poll.ErrNoQuorum)
		check.NotErr(t, "Lock", c.err, poll.ErrTaken)
	})(t)
}

// crowd has a master say that the first slots are taken, and two wait for one of them.
func (s *semaphore) crowd(permits, crowded int) {
	taken := make(map[int]int)
	for slot := range permits {
		taken[slot] = 1
	}
	taken[crowded] += 2
	s.slots = seen(3, permits, taken)
}

// A caller that looks leaves a slot that is crowded, whatever slot it tries meanwhile.
func TestACrowdedSlotIsLeft(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		const permits = 3
		for slot := range permits {
			fx.each(func(m *redlocktest.Master) { m.HSet(script.SlotKey("k", slot), id("x"), "1") })
		}
		p := fx.stander(permits)
		defer fx.leaves(p)
		fx.m.goTo(p, 0, true)
		fx.m.goTo(p, 1, false)
		p.semaphore.crowd(permits, 0)
		fx.m.choose(p, false)
		at := p.at()
		check.That(t, slices.Equal(at, []int{1, 2}), "it stands at slots %d, want 1 and 2", at)
	})(t)
}

// What a caller has won it takes, though it goes to one slot too many, or to one that is less crowded, before it hears
// of it.
func TestWhatWasWonIsTaken(t *testing.T) {
	const permits = 2 * maxStands
	for what, move := range map[string]func(*fixture, *waiter, int){
		"one slot too many": func(fx *fixture, p *waiter, _ int) {
			for range maxStands {
				fx.m.goTo(p, p.semaphore.slots.next(permits, 0, p.at()), true)
			}
		},
		"a slot that is less crowded": func(fx *fixture, p *waiter, won int) {
			p.semaphore.crowd(permits, won)
			fx.m.choose(p, false)
		},
	} {
		t.Run(what, bubble(3, func(t *testing.T, fx *fixture) {
			other, holds := fx.another(t), make([]*Hold, permits)
			for slot := range holds {
				holds[slot] = fx.take(t, other, script.SlotKey("k", slot))
			}
			p := fx.stander(permits)
			defer fx.leaves(p)
			fx.m.goTo(p, 0, true)
			synctest.Wait()
			won := p.drivers[0]
			unlock(t, holds[won.slot])
			wantWon(t, "the slot is given back", won)
			move(fx, p, won.slot)
			wantWon(t, what, won)
		}))
	}
}

// A caller that takes a permit has given up its other slots by then, and so it has if what it has won was lost meanwhile.
func TestWhoTakesAPermitStandsNowhereElse(t *testing.T) {
	for what, lost := range map[string]bool{"won": false, "lost meanwhile": true} {
		t.Run(what, bubble(3, func(t *testing.T, fx *fixture) {
			other, p := fx.another(t), fx.stander(2)
			defer fx.leaves(p)
			var holds []*Hold
			for slot := range 2 {
				holds = append(holds, fx.take(t, other, script.SlotKey("k", slot)))
				fx.m.goTo(p, slot, true)
			}
			synctest.Wait()
			unlock(t, holds[0])
			won := p.drivers[0]
			wantWon(t, "the slot is given back", won)
			if lost {
				won.step(&attempt.Event{Kind: attempt.Lose})
			}
			held := 0
			fx.m.All.HoldUp = func(Set) { held = max(held, len(fx.m.holds())) }
			hold := fx.m.take(p, won)
			fx.m.All.HoldUp = nil
			check.Equal(t, held, 0, "holds, when it gives up the other slot")
			check.That(t, (hold == nil) == lost && len(p.at()) == 0, "take = %v, and it stands at slots %d", hold, p.at())
			if hold != nil {
				unlock(t, hold)
			}
		}))
	}
}

// The owner of one slot does not have the semaphore, and the first of the slots that ends is the first permit.
func TestNobodyHasASemaphore(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		for slot := range 2 {
			fx.each(func(m *redlocktest.Master) {
				m.HSet(script.SlotKey("k", slot), id("x"), "1")
				m.Expire(script.SlotKey("k", slot), time.Duration(2-slot)*time.Minute)
			})
		}
		req := permit(2)
		req.Wait = false
		why, _ := errors.AsType[*poll.MajorityError](fx.wantRefused(t, req, poll.ErrTaken))
		check.Equal(t, why.Holder, "", "the holder of all permits")
		check.Between(t, why.FreeAfter, 59*time.Second, time.Minute, "until the first of them is free")
	})(t)
}

// What the last of the callers waited for is no reason of a later one, which gives up before any master has answered it.
func TestAReasonEndsWithTheLine(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.each(func(m *redlocktest.Master) { m.HSet(script.SlotKey("k", 0), id("x"), "1") })
		for _, why := range []error{poll.ErrTaken, poll.ErrNoQuorum} {
			c := begin(t, fx.m, permit(1))
			c.cancel()
			c.wantError(t, "it gives up", why)
			fx.each((*redlocktest.Master).Freeze)
		}
		fx.each((*redlocktest.Master).Thaw)
	})(t)
}

// A caller behind others waits for what the first of them waits for.
func TestTheReasonOfThoseInFront(t *testing.T) {
	for name, permits := range map[string]int{"lock": 0, "permit": 1} {
		t.Run(name, bubble(3, func(t *testing.T, fx *fixture) {
			for i := range 2 {
				fx.Master(i).Refuse("OOM no")
			}
			req := patient("k")
			req.Permits = permits
			begin(t, fx.m, req)
			req.Entry = new(entry)
			second := begin(t, fx.m, req)
			time.Sleep(time.Second)
			second.cancel()
			second.wantError(t, "it gives up", context.Canceled, poll.ErrNoQuorum)
			check.That(t, !errors.Is(second.err, poll.ErrTaken), "Lock = %v, want no word of others", second.err)
		}))
	}
}

// seen makes what a client knows of k slots, of as many masters as there are answers, of which each has how many own
// a slot or wait for it.
func seen(masters, k int, answers ...map[int]int) *slots {
	b := &poll.Ballot{N: masters, Answers: make([]script.Answer, masters)}
	for i, taken := range answers {
		a := script.Answer{Outcome: script.Done}
		for slot, load := range taken {
			a.Slots = append(a.Slots, script.Slot{Slot: slot, Held: true, Queue: load - 1})
		}
		b.Put(i, a)
	}
	return known(b, k)
}

// TestSlots: where a caller goes, by what the masters say.
func TestSlots(t *testing.T) {
	lots := []uint32{0, math.MaxUint32 / 3, math.MaxUint32 / 2, math.MaxUint32}
	all := func(pick func(lot uint32) int) (got []int) {
		for _, lot := range lots {
			got = append(got, pick(lot))
		}
		slices.Sort(got)
		return slices.Compact(got)
	}
	held := map[int]int{0: 1, 1: 2, 2: 1, 3: 1}
	two := seen(3, 4, held, map[int]int{0: 1, 1: 2, 3: 2}) // one says that 2 is free
	five := seen(3, 5, held, held)
	for _, tt := range []struct {
		what string
		got  []int
		want []int
	}{
		{"free, where a majority says so", all(func(lot uint32) int { return five.freeOne(5, lot, nil) }), []int{4}},
		{"free, of fewer", all(func(lot uint32) int { return five.freeOne(4, lot, nil) }), []int{-1}},
		{"free, where the caller stands", all(func(lot uint32) int { return five.freeOne(5, lot, []int{4}) }), []int{-1}},
		{"free, by a minority", all(func(lot uint32) int { return two.freeOne(4, lot, nil) }), []int{-1}},
		{"the shortest queue", all(func(lot uint32) int { return two.least(4, lot, nil) }), []int{2}},
		{"any of the shortest", all(func(lot uint32) int { return five.least(4, lot, nil) }), []int{0, 2, 3}},
		{"another than those of the caller", all(func(lot uint32) int { return five.least(4, lot, []int{0, 2, 3}) }), []int{1}},
		{"nobody has said anything", all(func(lot uint32) int { return (&slots{masters: 3}).freeOne(4, lot, nil) }), []int{-1}},
		{"nobody has said where", all(func(lot uint32) int { return (&slots{masters: 3}).least(4, lot, nil) }), []int{-1}},
		{"next", []int{five.next(4, 3, []int{3, 0})}, []int{1}},
		{"next, of all", []int{five.next(2, 1, []int{1, 0})}, []int{-1}},
	} {
		check.That(t, slices.Equal(tt.got, tt.want), "%s: %d, want %d", tt.what, tt.got, tt.want)
	}
	for _, tt := range []struct {
		what   string
		s      *slots
		others int
		want   bool
	}{
		{"one is free", five, 0, true},
		{"one is free, whatever others say", seen(3, 2, map[int]int{0: 1}, map[int]int{0: 1}), 1, true},
		{"none can be", seen(3, 2, map[int]int{0: 1, 1: 1}, map[int]int{0: 1, 1: 1}), 1, true},
		{"one may be, by the third", seen(3, 2, map[int]int{0: 1, 1: 1}, map[int]int{0: 1}), 1, false},
		{"the third gave no answer", seen(3, 2, map[int]int{0: 1, 1: 1}, map[int]int{0: 1}), 0, true},
	} {
		check.Equal(t, tt.s.settled(tt.others), tt.want, "settled, %s", tt.what)
	}
	check.That(t, five.crowded(1, 4) && !five.crowded(0, 2), "a slot is crowded where another has two fewer, and not where it has as many")
	five.stand(4)
	check.Equal(t, five.freeOne(5, 0, nil), -1, "free for others of the client, one of which has gone to the slot")
}

// TestSlotIsFreed: it is time to ask for a slot when a majority has freed it, once, and then it is free.
func TestSlotIsFreed(t *testing.T) {
	s := seen(5, 2, map[int]int{0: 1, 1: 1}, map[int]int{0: 1, 1: 1}, map[int]int{0: 1, 1: 1})
	for i, want := range []bool{false, false, true, false, false} {
		check.Equal(t, s.isFreed(i, 1), want, "free after master %d", i)
	}
	check.Equal(t, s.freeOne(2, 0, nil), 1, "free")
	for n, i := range []int{0, 0, 1, 4} { // the first says it twice
		check.Equal(t, s.isFreed(i, 7), n == 3, "a slot at which nobody looked is free after %d messages", n+1)
	}
}

// TestCallersBeginAtDifferentSlots: also where the client gave a slot back twice, which a look had found for it in between.
// A caller that counts fewer permits does not begin at a slot above them.
func TestCallersBeginAtDifferentSlots(t *testing.T) {
	s := nextSlot{other: 4}
	for _, slot := range []int{3, 2, 3} {
		s.freed(script.SlotKey("k", slot))
	}
	check.Equal(t, s.start("k", 2), 5%2, "begins at slot, of two")
	s.other = 4
	for _, want := range []int{3, 2, 5} {
		check.Equal(t, s.start("k", 8), want, "begins at slot")
	}
}

// TestSomeFollow: of those who wait, three or so follow a hint, whosever clients they are of; all of few do.
func TestSomeFollow(t *testing.T) {
	for waiters, want := range map[int]int{0: 1000, 2: 1000, 3: 1000, 30: 100, 300: 10} {
		s := seen(3, 1, map[int]int{0: 1 + waiters}, map[int]int{0: 1 + waiters})
		follow := 0
		for i := range uint64(1000) {
			if s.follow(uint32(i*math.MaxUint32/999), 1) {
				follow++
			}
		}
		check.That(t, follow >= want*9/10 && follow <= want*11/10+1, "of a thousand of %d waiters %d follow, want some %d", waiters, follow, want)
	}
}
