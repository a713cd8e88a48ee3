package protocol

import (
	"testing"
	"time"
)

// Permits: several slots, each a lock of its own.

// A majority for one slot wins.
func TestAPermitIsWonInOneRound(t *testing.T) {
	play(t, 5, permits, func(s *scene) {
		s.start().answers(yes(7).in(1), yes(9).in(2), yes(7).in(1), errored, yes(7).in(1)).want(Won)
		if s.c.Slot != 1 || s.c.Token != 7 || !s.c.Short {
			t.Errorf("slot %d with token %d, short: %v, want slot 1 with 7, and that it moves soon", s.c.Slot, s.c.Token, s.c.Short)
		}
	})
	play(t, 3, permits, func(s *scene) { // a hand-off of another one comes later
		s.start().answers(yes(7).in(1), yes(7).in(1)).want(Won).handOffSlot(2, 1, 7, 0)
		if s.c.Slot != 1 || !s.c.Short {
			t.Errorf("slot %d, short: %v, want slot 1, and that it gives slot 0 up soon", s.c.Slot, s.c.Short)
		}
	})
}

// Votes for several slots do not add up. They are given back to nobody, soon, by a contender that is in no
// queue until it asks again: first for the slot that most masters gave the old owner.
func TestSlotsDoNotAddUp(t *testing.T) {
	for _, lot := range lots {
		play(t, 3, permits, func(s *scene) {
			const trip = 10 * ms
			s.lot, s.trip = lot, trip
			s.start()
			for try := range 8 {
				crossed := s.now
				s.answers(yes(7).in(0), yes(7).in(1)).answer(2, yes(7).in(2)).want(Minority)
				s.wake().wantGivenBack(All(3), All(3), false).want(Waiting)
				if s.now < crossed+trip || s.now > crossed+2*trip+ms {
					t.Errorf("try %d: kept for %v, want a round trip to two", try, s.now-crossed)
				}
				if s.out.Ask != 0 {
					t.Errorf("try %d: asks %b, want to be in no queue", try, s.out.Ask)
				}
				gap, unit := s.now, ms<<min(try, 4)
				if s.wake(); s.now < gap+trip+unit || s.now > gap+2*trip+3*unit {
					t.Errorf("try %d: asks after %v, want more than %v", try, s.now-gap, trip+unit)
				}
				s.wantRound(All(3), AskOrQueue, s.out.Lease)
			}
		})
	}
	for want, answers := range [][]reply{
		{yes(7).in(0), yes(7).in(2), yes(7).in(1), yes(7).in(2), yes(7).in(0)},
		{yes(7).in(0), yes(7).in(1), yes(7).in(3), yes(7).in(1), busy(x, time.Hour)},
	} {
		play(t, 5, permits, func(s *scene) {
			s.start().answers(answers...).want(Minority).wake().wantGivenBack(All(5), All(5), false)
			if s.c.Start != want {
				t.Errorf("begins with slot %d, want %d", s.c.Start, want)
			}
		})
	}
	play(t, 3, permits, func(s *scene) { // grants and hand-offs: it asks before it gives them back
		s.start().answers(yes(7).in(0), busy(x, time.Hour), busy(x, time.Hour)).at(2*ms).handOffSlot(1, 1, 7, 1).want(Minority)
		s.wake().wantRound(All(3), AskOrQueue, shortLease).want(Waiting)
		s.answers(yes(7).in(0), yes(7).in(1), busy(x, time.Hour)).want(Minority).wake().wantGivenBack(All(3), All(3), false)
	})
	play(t, 3, permits, func(s *scene) { // a minority that is mixed only now
		s.trip = 2 * ms
		s.start().answers(busy(x, time.Hour), busy(y, time.Hour), busy(z, time.Hour)).at(10*ms).handOffSlot(0, 1, 7, 1).wantWake(13 * ms)
		s.at(10*ms).handOffSlot(1, 1, 7, 2).want(Minority).wantWake(12 * ms)
	})
	play(t, 5, permits, func(s *scene) { // votes for one slot go to others
		s.start().answers(yes(7).in(1), busy(x, time.Hour), busy(y, time.Hour), busy(z, time.Hour), yes(7).in(1)).want(Minority)
		s.wake().wantGivenBack(All(5), 0, true).want(Waiting).wantWake(s.now + 200*ms)
	})
}

// A try is refused when a majority says that all slots are taken, whoever has them.
func TestTryForAPermitIsRefused(t *testing.T) {
	play(t, 3, Want{Lease: lease, Permits: 3}, func(s *scene) {
		s.start().answers(yes(7), busy(x, time.Hour)).want(Asking).answer(2, busy(y, time.Hour)).wantFailed(Refused, 0b001)
	})
}

// Otherwise its votes are split: it gives them back, and tries again with any slot first, a few times.
func TestTryForAPermitIsSplit(t *testing.T) {
	want := Want{Lease: lease, Permits: 3}
	for i, lot := range lots {
		play(t, 3, want, func(s *scene) {
			s.lot = lot
			s.start()
			for range 4*maxSplits - 1 {
				s.answers(yes(7).in(0), yes(7).in(1)).want(Asking).answer(2, yes(7).in(2)).want(Paused).wantGivenBack(All(3), 0, false)
				if s.c.Start != i {
					t.Errorf("drawn %d: begins with slot %d, want %d", lot, s.c.Start, i)
				}
				s.wake().want(Asking).wantRound(All(3), AskOnce, s.out.Lease)
			}
			s.answers(yes(7).in(0), yes(7).in(1), busy(x, time.Hour)).wantFailed(Refused, 0b011)
		})
	}
	play(t, 3, want, func(s *scene) { // what a master has not taken back yet is no reason to give up
		s.start().answers(yes(7).in(0), yes(7).in(1)).answer(2, yes(7).in(2)).want(Paused).wake()
		s.answers(busy(x, time.Hour), busy(x, time.Hour)).want(Paused).wake()
		s.answers(busy(x, time.Hour), busy(x, time.Hour)).wantFailed(Refused, 0b100)
	})
	play(t, 3, want, func(s *scene) { // a majority of one slot that is too late is late
		s.c.Want.Lease = 100 * ms
		s.start().at(96*ms).answer(0, yes(7).in(1)).at(97*ms).answer(1, yes(7).in(1)).wantFailed(Late, All(3))
	})
}
