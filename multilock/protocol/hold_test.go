package protocol

import (
	"fmt"
	"testing"
	"time"

	"example.com/redlock/clock"
)

// watched is the beginning of a hold that is renewed.
var watched = HoldEvent{Wish: Wish{Watched: true}}

// A hold ends with its validity, to the nanosecond, whoever comes to look and whenever.
func TestAHoldEndsWithItsValidity(t *testing.T) {
	for kind := HoldWatch; kind <= HoldDue; kind++ {
		for _, late := range []time.Duration{0, time.Hour} {
			t.Run(fmt.Sprint(kind, late), func(t *testing.T) {
				playHold(t, HoldEvent{}, func(s *holdScene) {
					s.at(full-1).does(HoldDue).want(Valid, full)
					ev := HoldEvent{Kind: kind, Until: s.begin.Add(2 * full), At: 0b010}
					s.at(full+late).step(ev).wantEnd(Expired, full, 0b011)
				})
			})
		}
	}
}

// What has ended stays so. A renewal that was sent after the release sets the lock again, so it is
// released again.
func TestAHoldStaysEnded(t *testing.T) {
	for name, end := range map[string]func(s *holdScene){
		"expired":  func(s *holdScene) { s.at(full).does(HoldDue).wantEnd(Expired, full, 0b011) },
		"lost":     func(s *holdScene) { s.at(7*ms).does(HoldLost).wantEnd(Lost, 7*ms, 0b011) },
		"released": func(s *holdScene) { s.at(7*ms).does(HoldEnd).wantEnd(Released, 7*ms, 0b011) },
	} {
		t.Run(name, func(t *testing.T) {
			playHold(t, watched, func(s *holdScene) {
				end(s)
				for kind := HoldWatch; kind <= HoldDue; kind++ {
					s.at(s.now + 1).step(HoldEvent{Kind: kind, Until: s.begin.Add(2 * full), At: 0b110})
					if want := map[bool]Set{true: 0b110}[kind == HoldSent]; s.out.Release != want || s.h.Live() || s.h.Due {
						t.Errorf("event %d: a release at %b of what is %v, want at %b", kind, s.out.Release, s.h.State, want)
					}
				}
			})
		})
	}
}

// A renewal that is confirmed after validity has ended does not bring the hold back: somebody else
// may have held the lock in between.
func TestALateConfirmationCountsForNothing(t *testing.T) {
	playHold(t, watched, func(s *holdScene) {
		s.at(full/3).does(HoldRenew).sent(0b111).at(full).renewed(full/3+full).wantEnd(Expired, full, 0b111)
	})
	playHold(t, watched, func(s *holdScene) {
		s.at(full/3).does(HoldRenew).sent(0b111).at(full-1).renewed(full/3+full).want(Valid, full/3+full)
	})
}

// A renewal never makes a hold end earlier.
func TestARenewalDoesNotShorten(t *testing.T) {
	for _, kind := range []HoldKind{HoldRenewed, HoldExtended} {
		playHold(t, HoldEvent{}, func(s *holdScene) {
			s.at(time.Second).step(HoldEvent{Kind: kind, Until: s.begin.Add(full - 1)}).want(Valid, full)
			s.step(HoldEvent{Kind: kind, Until: s.begin.Add(full + 1)}).want(Valid, full+1)
		})
	}
}

// A hold is renewed every third of its lease if it is watched, and not otherwise.
func TestRenewalsAreDue(t *testing.T) {
	playHold(t, HoldEvent{}, func(s *holdScene) {
		s.wantNoneDue().at(time.Second).renewed(time.Second + full).wantNoneDue().does(HoldFailed).wantNoneDue()
	})
	playHold(t, watched, func(s *holdScene) {
		every := lease / 3
		s.wantDue(every).at(every).does(HoldRenew).wantNoneDue().at(every + ms).renewed(every + full).wantDue(every + ms + every)
		s.step(HoldEvent{Kind: HoldExtended, Until: s.begin.Add(2 * full)}).wantDue(every + ms + every)
	})
	playHold(t, HoldEvent{}, func(s *holdScene) { // from now on, and for a shorter lease
		s.at(time.Second).wants(Wish{Watched: true, Lease: lease}).wantDue(time.Second + lease/3)
		s.at(2 * time.Second).wants(Wish{Watched: true, Lease: 3 * time.Second}).wantDue(3 * time.Second)
		s.at(3 * time.Second).does(HoldRenew).renewed(3*time.Second + full).wantDue(4 * time.Second)
		s.wants(Wish{}).wantNoneDue().renewed(4*time.Second + full).wantNoneDue()
	})
}

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
