package protocol

import (
	"math"
	"testing"
	"time"

	"example.com/redlock/clock"
)

// A free lock is won with the q-th answer, and nothing is timed until then: each master answers, or
// is taken to have failed.
func TestAFreeLockIsWonInOneRound(t *testing.T) {
	play(t, 5, waits, func(s *scene) {
		s.start().want(Asking).wantRound(All(5), AskOrQueue, shortLease).wantNoWake()
		s.at(60*ms).answer(3, yes(7)).answer(0, yes(7)).want(Asking).wantNoWake()
		s.at(61*ms).answer(4, yes(7)).wantWon(full, false, 7).wantNoWake()
		s.answer(1, yes(7)).wantQuiet()
		s.at(full - 1).take().want(Taken).wantQuiet()
		s.answer(2, yes(7)).giveUp().want(Taken).wantQuiet()
		if got := s.c.Claimed(); got != All(5) {
			t.Errorf("Claimed = %b, want all: those whose answers came late have it as well", got)
		}
	})
}

// A lease that is used up before the answers come is asked for seldom: neither grants that are too late,
// nor hand-offs, nor hints make the next round come sooner.
func TestALeaseThatIsTooShort(t *testing.T) {
	play(t, 3, Want{Lease: 10 * ms, Wait: true}, func(s *scene) {
		s.trip = 20 * ms
		rounds := 0
		for s.start(); s.now < 10*time.Second; rounds++ {
			s.at(s.now+20*ms).answer(0, yes(7)).answer(1, yes(7)).handOff(2, s.c.Round, 7).hint(0)
			for s.wake(); s.out.Ask == 0; {
				s.wake()
			}
		}
		if rounds > 60 {
			t.Errorf("%d rounds in 10s, want 60 at most", rounds)
		}
	})
}

// Who is far from the head of the queue asks less often, and wants the lock handed off for longer: an
// entry counts until the next one has come. Neither is longer than the lease allows.
func TestFarWaitersAskLessOften(t *testing.T) {
	for _, tt := range []struct {
		ahead          int
		lease, trip    time.Duration
		pause, handOff time.Duration
	}{
		{3, lease, 0, 200 * ms, 400 * ms},
		{3, lease, 600 * ms, 1000 * ms, 3200 * ms},
		{3, 300 * ms, 70 * ms, 150 * ms, 300 * ms},
		{4, lease, 0, 500 * ms, 1000 * ms},
		{15, lease, 0, 1600 * ms, 3200 * ms},
		{100_000, lease, 70 * ms, 1670 * ms, 3480 * ms},
		{100_000, 3 * time.Second, 0, 1500 * ms, 3 * time.Second},
	} {
		play(t, 3, Want{Lease: tt.lease, Wait: true}, func(s *scene) {
			s.trip = tt.trip
			held := busy(x, time.Hour).behind(tt.ahead)
			s.start().allAnswer(held).wake().wantRound(All(3), QueueOnly, tt.handOff)
			s.wantWake(s.now + tt.pause)
		})
	}
	far := busy(x, time.Hour).behind(40)
	play(t, 3, waits, func(s *scene) { // if it is told when its turn comes
		s.deaf = true
		s.start().allAnswer(far).wake().wantRound(All(3), QueueOnly, shortLease)
	})
	play(t, 5, waits, func(s *scene) { // also as a new owner, which has the same place
		s.start().answers(far, far, far, yes(7)).wake().wantGivenBack(All(5), 0b11000, true).wantWake(1600 * ms)
	})
	play(t, 5, waits, func(s *scene) { // who does not answer brings it no nearer
		s.start().answers(far, busy(x, time.Hour).behind(8), silent, silent, silent).wake().wantWake(1100 * ms)
	})
}

// When many have reason to ask, they ask one after the other, by how many stand before them: those
// near the head at once, the others later, and never later than they would have asked anyway.
func TestManyDoNotAskAtOnce(t *testing.T) {
	const left = 100 * ms
	for _, tt := range []struct {
		ahead   int
		expiry  time.Duration // of the lease that masters told of
		hint    time.Duration
		present time.Duration // of the round that is planned
	}{
		{3, left + 1*ms, 5 * ms, 200 * ms},
		{4, left + 5*ms, 9 * ms, 200 * ms},
		{100, 200 * ms, 105 * ms, 200 * ms},
		{900, 200 * ms, 200 * ms, 200 * ms},
	} {
		play(t, 3, waits, func(s *scene) {
			s.start().allAnswer(busy(x, left).behind(tt.ahead)).wantWake(min(tt.expiry, tt.present))
		})
		play(t, 3, waits, func(s *scene) {
			s.start().allAnswer(busy(x, time.Hour).behind(tt.ahead)).hint(5 * ms).wantWake(min(tt.hint, tt.present))
		})
	}
	play(t, 3, waits, func(s *scene) { // a hand-off that came too late is for this one alone
		s.start().allAnswer(busy(x, time.Hour).behind(900)).at(300 * ms).due().allAnswer(busy(x, time.Hour).behind(900))
		s.at(900*ms).handOff(0, 1, 7).wantWake(901 * ms)
	})
}

// Rounds of many contenders fall on common moments, so that they share a flush: earlier than they
// would be, never later.
func TestRoundsFallOnAGrid(t *testing.T) {
	for _, off := range []time.Duration{0, 1, 13 * ms, 49*ms + 999, 50 * ms} {
		for _, begin := range beginnings {
			conf := Config{Masters: 3, Times: Usual}
			c := Contender{Want: waits}
			now := begin.Add(off)
			var out Effects
			c.Step(&conf, now, &Event{Kind: Start}, &out)
			since := c.AskAt.Sub(clock.Instant{})
			if pause := c.AskAt.Sub(now); since%Usual.Grid != 0 || pause > 200*ms || pause <= 150*ms {
				t.Errorf("at %v the next round is due in %v, at %v; want it on a multiple of %v, in 150 to 200 ms",
					now, pause, since, Usual.Grid)
			}
		}
	}
	c := Contender{Want: Want{Lease: 8 * ms, Wait: true}}
	var out Effects
	now := clock.Instant{}.Add(-999 * time.Microsecond)
	c.Step(&Config{Masters: 3, Times: Usual}, now, &Event{Kind: Start}, &out)
	if pause := c.AskAt.Sub(now); pause <= 3*ms || pause > 4*ms {
		t.Errorf("the next round of a short lease is due in %v, want 3 to 4 ms", pause)
	}
}

// It is the majority's time that counts, not the first master's.
func TestAsksWhenAMajorityIsFree(t *testing.T) {
	play(t, 3, waits, func(s *scene) { // a master that granted it is free, or ours
		s.trip = 100 * ms // so that the minority is kept until then
		s.start().answers(yes(7), busy(x, 30*ms), busy(y, 5*time.Second)).want(Minority).wantWake(31 * ms)
	})
}

// While a majority says that somebody has the lock for a while, the contender only keeps its place:
// a grant of one master would be in the holder's way. What was answered before a hint no longer
// tells that.
func TestOnlyQueuesWhileTheLockIsHeld(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []reply
		want    Command
	}{
		{"held by a majority", []reply{silent, busy(x, time.Minute), busy(x, time.Minute)}, QueueOnly},
		{"for ever", []reply{busy(x, math.MaxInt64), busy(x, math.MaxInt64), silent}, QueueOnly},
		{"until before the next round", []reply{busy(x, 10*ms), busy(x, 10*ms), busy(x, 10*ms)}, AskOrQueue},
		{"not known", []reply{busy(x, time.Minute), silent, silent}, AskOrQueue},
		{"kept free", []reply{busy(Nobody, time.Minute), busy(Nobody, time.Minute), silent}, AskOrQueue},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, 3, waits, func(s *scene) {
				s.start().answers(tt.answers...).wake().wantRound(All(3), tt.want, shortLease)
			})
		})
	}
	play(t, 3, waits, func(s *scene) {
		s.start().answers(busy(x, time.Minute), busy(x, time.Minute)).round(50 * ms)
		s.wantRound(All(3), AskOrQueue, shortLease)
		s.answer(2, busy(x, time.Minute).to(1)) // it is as old as the others
		s.wake().wantRound(All(3), AskOrQueue, shortLease)
	})
	play(t, 3, waits, func(s *scene) { // it has changed hands since
		s.start().allAnswer(busy(x, time.Minute)).wake().wantRound(All(3), QueueOnly, shortLease)
		s.answers(busy(y, time.Minute), silent, busy(x, time.Minute)).wake().wantRound(All(3), AskOrQueue, shortLease)
	})
}

// Where a round that only kept the place in the queue finds the lock handed off, the message is late
// or lost: the next one confirms it, soon.
func TestQueueingFindsAHandOff(t *testing.T) {
	play(t, 3, waits, func(s *scene) {
		s.start().allAnswer(busy(x, time.Minute)).wake().wantRound(All(3), QueueOnly, shortLease)
		s.at(210*ms).answer(0, yes(7)).want(Waiting).wantWake(211 * ms)
		s.answer(1, yes(7)).answer(2, yes(7)).want(Waiting)
		s.wake().wantRound(All(3), AskOrQueue, shortLease)
		s.answer(0, yes(7)).answer(1, yes(7)).wantWon(211*ms+full, false, 7)
	})
}

// An answer to a round that another one has followed brings no third one: the second is on its way
// to learn more.
func TestLateAnswersBringNoRound(t *testing.T) {
	play(t, 5, waits, func(s *scene) {
		s.start().at(35*ms).answers(busy(x, time.Minute), busy(x, time.Minute), busy(x, 11*ms)).round(36 * ms)
		s.at(41*ms).answer(3, busy(x, 5*ms).to(1)).answer(4, busy(x, 5*ms).to(1)).wantWake(236 * ms)
		s.answer(0, busy(x, 5*ms)).wantWake(46*ms + s.conf.Settle)
	})
}

// Waiting is in vain where so many masters say what does not pass by itself that no majority is
// left, and nowhere else.
func TestInVain(t *testing.T) {
	held := busy(x, time.Minute)
	play(t, 3, waits, func(s *scene) { // also with a grant, which is given back
		s.start().answers(yes(7), hopeless, hopeless).wantFailed(InVain, 0b111)
	})
	play(t, 3, waits, func(s *scene) { // other errors may pass
		s.start().answers(hopeless, errored, errored).want(Waiting)
	})
	play(t, 3, waits, func(s *scene) { // what has passed counts no more
		s.start().answers(hopeless, held, held).wake().answers(held, hopeless, held).want(Waiting)
	})
}

// Each round tells once, when the next one is sent, whether too few masters answered it: all answers
// are in by then that come soon.
func TestStock(t *testing.T) {
	for _, tt := range []struct {
		name    string
		answers []reply
		outage  bool
	}{
		{"held by a majority", []reply{busy(x, time.Minute), errored, busy(x, time.Minute)}, false},
		{"a majority is silent", []reply{silent, busy(x, time.Minute), silent}, true},
		{"all are down", []reply{unsent, unsent, unsent}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			play(t, 3, waits, func(s *scene) {
				s.start().answers(tt.answers...)
				if s.out.Stock {
					t.Error("stock is taken before the next round")
				}
				if s.wake(); !s.out.Stock || s.out.Outage != tt.outage {
					t.Errorf("stock %v, outage %v, want true, %v", s.out.Stock, s.out.Outage, tt.outage)
				}
			})
		})
	}
}

// Who is started with a delay asks when that is over, unless a release enters it before.
func TestStartWithADelay(t *testing.T) {
	later := Event{Kind: Start, Delay: 20 * ms}
	play(t, 3, waits, func(s *scene) {
		s.step(later).want(Idle).wantQuiet().wantWake(20 * ms)
		s.at(20*ms - 1).due().want(Idle).wantQuiet()
		s.at(20*ms).due().want(Asking).wantRound(All(3), AskOrQueue, shortLease)
		s.step(later).want(Asking).wantQuiet()
	})
	play(t, 3, waits, func(s *scene) {
		s.step(later).at(ms).enter(0b011).want(Queued).wantRound(0b100, AskOrQueue, shortLease)
		s.at(20 * ms).due().want(Queued).wantQuiet()
	})
}

// Who waits behind its own client's hold asks seldom, as long as a majority names that and it would be told of
// a hand-off.
func TestAsksSeldomBehindItsOwnClient(t *testing.T) {
	own := busy(x|Ours, time.Hour)
	play(t, 3, waits, func(s *scene) {
		s.start().answers(own, own, busy(x, time.Hour)).wantWake(200 * ms)
		s.wake().wantRound(All(3), QueueOnly, 2000*ms).wantWake(1200 * ms)
		s.answers(own, busy(x, time.Hour), busy(x, time.Hour)).wake().wantRound(All(3), QueueOnly, 800*ms)
	})
	play(t, 3, waits, func(s *scene) {
		s.deaf = true
		s.start().allAnswer(own).wake().wantRound(All(3), QueueOnly, shortLease)
	})
}
