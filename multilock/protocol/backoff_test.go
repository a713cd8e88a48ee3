package protocol

import (
	"testing"
	"time"
)

// Votes that are left over while one owner has a majority are kept for a round trip only, in case he
// gives it back, and handed off to nobody: he may need them to heal. The contender stands in the queue
// without a gap: its new owner enters when the last one leaves. It only keeps its place, and takes part
// when the holder's lease has ended.
func TestMinorityIsLeftToAHolder(t *testing.T) {
	play(t, 5, waits, func(s *scene) {
		s.start().answers(busy(x, 30*ms), silent, busy(x, 30*ms), busy(x, 30*ms)).want(Waiting)
		s.at(5*ms).answer(4, yes(7)).want(Minority).wake().wantGivenBack(All(5), 0b10010, true).want(Waiting).wantWake(31 * ms)
		if s.c.BackOffs != 0 {
			t.Errorf("%d back-offs, want none", s.c.BackOffs)
		}
		s.wake().wantRound(All(5), AskOrQueue, shortLease)
	})
}

// An owner that answers to different rounds name may have gone in between. Votes beside it may be
// the first of a majority.
func TestMinorityIsKeptWhileTheHolderIsInDoubt(t *testing.T) {
	play(t, 3, waits, func(s *scene) {
		s.start().answers(busy(x, lease), busy(x, lease), busy(x, lease)).round(50 * ms)
		s.at(51*ms).answer(0, yes(7)).wantWake(55*ms).answer(1, busy(x, lease)).wantWake(55 * ms)
		s.answer(2, busy(x, lease)).wantWake(51 * ms)
	})
	play(t, 3, waits, func(s *scene) { // and so may one who was named before a hand-off
		s.start().answers(busy(x, lease)).handOff(1, 1, 7).want(Minority).answer(2, busy(x, lease)).wantWake(4 * ms)
	})
	play(t, 3, waits, func(s *scene) { // or before a hint that the lock is free
		s.start().answers(yes(7), busy(x, lease)).hint(3*ms).answer(2, busy(x, lease)).want(Minority)
		if left := s.c.BackOffAt.Sub(s.begin); left != 4*ms {
			t.Errorf("a minority is kept for %v, want 4ms", left)
		}
	})
}

// Hand-offs that make no majority are first asked about: what the masters said before them may be
// out of date. Then they are given back as well.
func TestHandedOffMinorityAsksBeforeItGivesBack(t *testing.T) {
	play(t, 3, waits, func(s *scene) {
		s.start().allAnswer(busy(x, time.Hour)).at(50*ms).handOff(0, 1, 7).want(Minority).wantWake(54 * ms)
		s.wake().wantRound(All(3), AskOrQueue, shortLease).want(Waiting)
		if s.out.Release != 0 || !s.out.Stock {
			t.Errorf("%+v, want no release yet, and that stock is taken", s.out)
		}
		s.at(60*ms).answers(yes(7), busy(x, time.Hour), busy(y, time.Hour)).want(Minority).wake().wantGivenBack(All(3), 0, true)
	})
	play(t, 3, waits, func(s *scene) { // a round since then has asked already
		s.start().allAnswer(busy(x, time.Hour)).at(50*ms).handOff(0, 1, 7).round(51 * ms).want(Minority)
		s.at(54*ms).due().wantGivenBack(All(3), 0b001, true)
	})
}

// The next round does not put off giving a minority back, and neither do its answers.
func TestARoundDoesNotPutOffBackingOff(t *testing.T) {
	play(t, 3, waits, func(s *scene) {
		s.start().answers(yes(7), busy(y, time.Hour), busy(z, time.Hour)).want(Minority).wantWake(4 * ms)
		s.round(2 * ms).want(Minority).wantWake(4 * ms)
		s.at(3*ms).answers(yes(7), busy(y, time.Hour), busy(z, time.Hour)).handOff(0, 1, 7).wantWake(4 * ms)
	})
}

// A caller that sleeps through what it won gives it back and goes on as a new owner, of whom nobody
// has said anything yet.
func TestWhoSleptBeginsAnew(t *testing.T) {
	play(t, 3, waits, func(s *scene) {
		s.start().answers(yes(7), yes(7)).want(Won).at(full).take().want(Waiting).wantGivenBack(All(3), 0, true)
		if s.c.BackOffs != 1 {
			s.Errorf("backed off %d times, want once", s.c.BackOffs)
		}
		s.answer(2, yes(7).of(1).to(1)).want(Waiting)
		s.wake().want(Waiting).wantRound(All(3), AskOrQueue, s.out.Lease).answers(yes(8), yes(8)).wantWon(s.now+full, false, 8)
	})
}
