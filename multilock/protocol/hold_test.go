package protocol

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/redlock/clock"
)

// watched is the beginning of a hold that is renewed.
var watched = HoldEvent{Wish: Wish{Watched: true}}

// A hold is renewed at once when a master that may have voted for it may have forgotten that: if it is renewed
// at all.
func TestDoubtIsCleared(t *testing.T) {
	doubt := HoldEvent{Kind: HoldDoubt, At: 0b010}
	playHold(t, watched, func(s *holdScene) {
		s.at(time.Second).step(doubt).want(Valid, full).wantDue(time.Second)
		s.does(HoldRenew).wantNoneDue().renewed(time.Second + full).wantDue(time.Second + lease/3)
		s.at(2 * time.Second).step(HoldEvent{Kind: HoldDoubt, At: 0b100}).wantDue(time.Second + lease/3) // it was not there
	})
	playHold(t, HoldEvent{}, func(s *holdScene) { s.step(doubt).wantNoneDue() })
	for _, watch := range []bool{false, true} { // of which one was under way, and may have counted that master
		playHold(t, HoldEvent{Short: true, Wish: Wish{Watched: watch}}, func(s *holdScene) {
			if s.at(ms).step(doubt).wantDue(ms).at(2 * ms).renewed(full); watch {
				s.wantDue(ms)
			} else {
				s.wantNoneDue()
			}
		})
	}
}

// A hold that was handed off is renewed to the lease that was wanted, watched or not: soon, and once
// more before the masters' silence can be told from a no.
func TestTopUp(t *testing.T) {
	for _, watch := range []bool{false, true} {
		playHold(t, HoldEvent{Short: true, Wish: Wish{Watched: watch}}, func(s *holdScene) {
			s.want(Short, shortValid).wantDue(20 * ms)
			s.at(20*ms).does(HoldRenew).want(Short, shortValid).wantDue(20*ms + (shortValid-20*ms)/4)
			s.at(21 * ms).does(HoldFailed).wantDue(20*ms + (shortValid-20*ms)/4) // which is known already
			s.at(22*ms).renewed(20*ms+full).want(Valid, 20*ms+full)
			if watch {
				s.wantDue(22*ms + lease/3)
			} else {
				s.wantNoneDue()
			}
		})
		playHold(t, HoldEvent{Short: true, Wish: Wish{Watched: watch}}, func(s *holdScene) { // until it ends
			s.h.Want(Wish{})
			for s.h.Due {
				s.at(s.h.RenewAt.Sub(s.begin))
				if s.does(HoldRenew); s.h.Due && s.h.RenewAt.Sub(s.begin) <= s.now {
					t.Fatal("renewed again at once")
				}
			}
			s.wantEnd(Expired, shortValid, 0b011)
		})
	}
	for _, tt := range []struct{ trip, first, again time.Duration }{
		{0, 20 * ms, 93500 * time.Microsecond},
		{100 * ms, 20 * ms, 120 * ms},
		{180 * ms, 17 * ms, 200 * ms},
		{300 * ms, 0, 320 * ms},
	} {
		playHold(t, HoldEvent{Short: true, Trip: tt.trip}, func(s *holdScene) {
			s.wantDue(tt.first).at(tt.first).does(HoldRenew).wantDue(tt.first + tt.again)
			s.does(HoldFailed).wantDue(tt.first + tt.again) // of an earlier one
		})
	}
}

// A renewal that failed is made again after a tenth of the lease, and the sooner the less validity is left, but not
// at once.
func TestFailedRenewalIsRepeated(t *testing.T) {
	playHold(t, watched, func(s *holdScene) {
		s.at(lease / 3).does(HoldRenew).does(HoldFailed).wantDue(lease/3 + lease/10)
		s.at(full - lease/5).does(HoldRenew).does(HoldFailed).wantDue(full - lease/5 + lease/20)
		s.at(full - lease/100).does(HoldRenew).does(HoldFailed).wantDue(full)
	})
}

// A caller that extends a short hold leaves its renewal as it is.
func TestExtendOfAShortHold(t *testing.T) {
	playHold(t, HoldEvent{Short: true}, func(s *holdScene) {
		s.step(HoldEvent{Kind: HoldExtended, Until: s.begin.Add(full)}).want(Short, full).wantDue(20 * ms)
	})
}

// A hold is watched until its limit, and is then renewed no more: it ends with its validity.
func TestLimit(t *testing.T) {
	limited := func(after time.Duration) Wish {
		return Wish{Watched: true, Lease: lease, Limited: true, Limit: clock.Instant{}.Add(after)}
	}
	first := func(after time.Duration, story func(s *holdScene)) {
		playHold(t, HoldEvent{}, func(s *holdScene) { story(s.wants(limited(s.begin.Sub(clock.Instant{}) + after))) })
	}
	first(lease, func(s *holdScene) {
		s.wantDue(lease / 3).at(lease / 3).does(HoldRenew).renewed(lease/3 + full).wantDue(2 * (lease / 3))
		s.at(2 * (lease / 3)).does(HoldRenew).renewed(2*(lease/3) + full).wantDue(3 * (lease / 3))
		s.at(3 * (lease / 3)).does(HoldRenew).renewed(lease + full).wantNoneDue()
		if s.h.Watched {
			t.Error("it is watched beyond its limit")
		}
		s.at(19 * time.Second).does(HoldFailed).wantNoneDue()
		s.at(lease+full).does(HoldDue).wantEnd(Expired, lease+full, 0b011)
	})
	first(lease/3, func(s *holdScene) { s.wantNoneDue() }) // no renewal is due at the limit
	first(lease/3+1, func(s *holdScene) { s.wantDue(lease / 3) })
	first(lease/2, func(s *holdScene) { // one that is due before stays so
		s.at(lease / 4).wants(s.h.Wish).wantDue(lease / 3)
		s.wants(Wish{}).wantNoneDue() // until nobody wants it
	})
	playHold(t, watched, func(s *holdScene) { // or whoever wanted it for longer leaked
		s.h.Want(limited(s.begin.Sub(clock.Instant{}) + lease/3))
		s.wantNoneDue()
	})
}

// A downgrade makes a hold shared at once, and ends nothing. What a renewal finds that was sent for the
// writer counts if it is a yes; but a master that shares the lock by now knows no writer.
func TestDowngrade(t *testing.T) {
	playHold(t, watched, func(s *holdScene) {
		s.at(ms).does(HoldRenew).does(HoldDowngrade).want(Valid, full)
		if !s.h.Shared {
			t.Fatal("the hold is not shared")
		}
		s.at(2*ms).step(HoldEvent{Kind: HoldLost, Writer: true}).want(Valid, full)
		if !s.h.Due || s.out.Release != 0 {
			t.Errorf("a renewal is due: %v, a release at %b, want another renewal", s.h.Due, s.out.Release)
		}
		s.at(3*ms).renewed(ms+full).want(Valid, ms+full)
		s.at(4*ms).does(HoldLost).wantEnd(Lost, 4*ms, 0b011)
	})
}

// Whatever happens to a hold, and in whatever order, each step is right, and every arrow is taken by
// some walk.
//
// Replay one seed: go test ./multilock/protocol -run 'TestHoldWalk/seed=17$' -v
func TestHoldWalk(t *testing.T) {
	took := map[HoldArrow]bool{}
	for seed := range uint64(2000) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			conf := Config{Masters: 1 + r.IntN(Max), Times: Usual}
			now := clock.Instant{}.Add(time.Duration(r.Int64N(int64(100*time.Hour))) - 50*time.Hour)
			soon := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
			draw := func(kind HoldKind) HoldEvent {
				return HoldEvent{
					Kind: kind, Until: now.Add(soon(12*time.Second) - time.Second), At: Set(r.Uint32()) & All(conf.Masters),
					Wish: Wish{
						Watched: r.IntN(2) == 0, Lease: time.Second + soon(10*time.Second).Truncate(ms),
						Limited: r.IntN(2) == 0, Limit: now.Add(soon(20 * time.Second)),
					},
					Shared: r.IntN(2) == 0, Writer: r.IntN(2) == 0, Trip: soon(100 * ms),
				}
			}
			var h Hold
			var out HoldEffects
			won := draw(HoldWon)
			won.Short, won.Until = r.IntN(2) == 0, now.Add(1+soon(10*time.Second))
			ev := &won
			for n := range 60 {
				before := h
				h.Step(&conf, now, ev, &out)
				if wrong := wrongsOfHold(&before, &h, now, ev, &out); len(wrong) > 0 {
					t.Fatalf("step %d, %+v: %q", n, *ev, wrong)
				}
				if n > 0 && before.State != h.State {
					took[HoldArrow{From: before.State, To: h.State}] = true
				}
				switch {
				case r.IntN(4) == 0:
					now = now.Add(soon(3 * time.Second))
				case h.Due && r.IntN(2) == 0:
					now = now.Add(max(0, now.Left(h.RenewAt)))
				}
				if r.IntN(30) == 0 {
					h.Want(Wish{})
				}
				kind := HoldWatch + HoldKind(r.IntN(int(HoldDue)))
				if (kind == HoldEnd || kind == HoldLost) && r.IntN(4) > 0 {
					kind = HoldRenewed
				}
				if kind == HoldSent && h.Unsent == 0 {
					kind = HoldExtend
				}
				next := draw(kind)
				ev = &next
			}
		})
	}
	if t.Failed() {
		return
	}
	for _, a := range HoldArrows {
		if !took[HoldArrow{From: a.From, To: a.To}] {
			t.Errorf("no walk went from %v to %v (%s)", a.From, a.To, a.Why)
		}
	}
}
