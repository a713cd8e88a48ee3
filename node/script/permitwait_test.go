package script

import (
	"fmt"
	"reflect"
	"testing"
	"time"
)

// TestAHundredWhoWaitAreTold: of more, who waits for a permit, the first hundred are told.
func TestAHundredWhoWaitAreTold(t *testing.T) {
	withPermits(t, func(p permits) {
		p.take("a:r1", 1, 0)
		for i := range 101 {
			p.ask(fmt.Sprintf("b:r%d", i), 1, 0, int64(i+1))
		}
		told := p.run(InspectPermits("k")).Permits.Waiters
		if len(told) != 100 || told[99].Owner != id("b:r99") {
			t.Errorf("%d are told, want the first hundred", len(told))
		}
	})
}

// TestPermitsAreHandedOff: a slot that is freed goes to the first who waits, with one message that says
// which slot and a token above the last. Nobody overtakes.
func TestPermitsAreHandedOff(t *testing.T) {
	withPermits(t, func(p permits) {
		post := p.subscribeClient("b")
		p.take("a:r1", 2, 0)
		p.take("a:r2", 2, 0)
		for i, since := range []int64{20, 10} {
			if got := p.ask(fmt.Sprintf("b:r%d", i), 2, 0, since); got.Outcome != Refused || got.Rank != 0 {
				t.Errorf("ask %d: answered %+v, want no, and that nobody is before it", i, got)
			}
		}
		p.want("waiting", []string{"0 a:r1 30s", "1 a:r2 30s"}, []string{"b:r1", "b:r0"})
		p.release("a:r2", 1)
		post.want(t, "the release of slot 1", id("b:r1 1 51:1 k"))
		p.want("then", []string{"0 a:r1 30s", "1 b:r1 400ms"}, []string{"b:r0"})
		wantSlot(t, "an ask that crossed the message", p.ask("b:r1", 2, 0, 10), 1, 51)

		// Run out, while somebody waits.
		p.ask("b:r0", 2, 0, 20)
		time.Sleep(lease)
		p.register("b:r0", 2, 20)
		p.wantAnswer("a try past one who waits, for the slot that is left", p.run(NewPermit("k", id("c:r1"), 1, 0).Acquire(lease, 50)), Refused, holders("b:r0"))
		post.want(t, "it", id("b:r0 2 51:0 k"))
	})
}

// register is a round of a waiter that leaves the slots alone.
func (p permits) register(owner string, round uint64, since int64) Answer {
	e := asked(since)
	e.Round = round
	return p.run(NewPermit("k", id(owner), 2, 0).Register(e))
}

// TestPermitsFitTheSlots: two slots that are freed at a time go to the same waiters in either order, to
// each the one that it wants first. But no more are asked than there are permits, and a slot that none of
// them wants goes to the first of all.
func TestPermitsFitTheSlots(t *testing.T) {
	for _, order := range [][]int{{0, 1}, {1, 0}} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			withPermits(t, func(p permits) {
				p.subscribeClient("b")
				p.take("a:r0", 2, 0)
				p.take("a:r1", 2, 1)
				p.ask("b:r1", 2, 1, 10)
				p.ask("b:r2", 2, 0, 20)
				for _, slot := range order {
					p.release(fmt.Sprint("a:r", slot), slot)
				}
				p.want("then", []string{"0 b:r2 400ms", "1 b:r1 400ms"}, nil)
			})
		})
	}
	withPermits(t, func(p permits) {
		p.subscribeClient("b")
		p.take("a:r0", 2, 0)
		p.take("a:r1", 2, 1)
		p.ask("b:r1", 2, 1, 10)
		p.ask("b:r2", 2, 1, 20)
		p.ask("b:r3", 2, 0, 30) // the third
		p.release("a:r0", 0)
		p.want("then", []string{"0 b:r1 400ms", "1 a:r1 30s"}, []string{"b:r2", "b:r3"})
	})
}

// TestPermitsOvertakeForAWhileOnly: who wants a slot that is freed overtakes one who wants another only if
// it began to wait soon after that one, which could otherwise wait forever.
func TestPermitsOvertakeForAWhileOnly(t *testing.T) {
	for _, tt := range []struct {
		later int64 // in µs
		gets  string
		waits string
	}{
		{50_000, "b:r2", "b:r1"},
		{50_001, "b:r1", "b:r2"},
	} {
		withPermits(t, func(p permits) {
			p.subscribeClient("b")
			p.take("a:r0", 2, 0)
			p.take("a:r1", 2, 1)
			p.ask("b:r1", 2, 1, 10)
			p.ask("b:r2", 2, 0, 10+tt.later)
			p.release("a:r0", 0)
			p.want(fmt.Sprint(tt.later, " µs later"), []string{"0 " + tt.gets + " 400ms", "1 a:r1 30s"}, []string{tt.waits})
		})
	}
}

// TestPermitsGiveWay: what a caller gives back goes to others, and not to itself as a new owner; a
// release for the next of its client may go to that.
func TestPermitsGiveWay(t *testing.T) {
	for _, tt := range []struct {
		name    string
		since   int64
		others  bool
		slots   []string
		waiters []string
	}{
		{"alone", 10, false, nil, []string{"b:r2"}},
		{"to who came later", 10, true, []string{"0 b:r3 400ms"}, []string{"b:r2"}},
		{"of another caller, alone", 9, false, []string{"0 b:r2 400ms"}, nil},
		{"of another caller, before others", 9, true, []string{"0 b:r2 400ms"}, []string{"b:r3"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			withPermits(t, func(p permits) {
				p.subscribeClient("b")
				p.ask("b:r1", 1, 0, tt.since)
				if tt.others {
					p.ask("b:r3", 1, 0, 30)
				}
				cmd := NewPermit("k", id("b:r1"), 1, 0).ReleaseTo(50, tt.since, NewPermit("k", id("b:r2"), 1, 0), asked(10))
				p.wantAnswer("it", p.run(cmd), Done, "")
				p.want("then", tt.slots, tt.waiters)
			})
		})
	}
}

// TestPermitsLookNoFurther: a step looks at so much of the queue as does not hold up the master, and the
// next one goes on from there.
func TestPermitsLookNoFurther(t *testing.T) {
	withPermits(t, func(p permits) {
		for i := range int64(40) {
			p.run(NewPermit("k", id(fmt.Sprintf("c:r%d", i)), 1, 0).Register(asked(i + 1)))
		}
		o := NewPermit("k", id("b:r1"), 1, 0)
		for ask := range 5 {
			got := p.run(o.AcquireOrRegister(lease, asked(100)))
			if want := (Answer{Outcome: Refused, Rank: 32 - 8*ask}); !reflect.DeepEqual(got, want) {
				t.Errorf("ask %d, behind 40 that are gone: answered %+v, want %+v", ask, got, want)
			}
		}
		wantSlot(t, "the next", p.run(o.AcquireOrRegister(lease, asked(100))), 0, 50)
	})
}
