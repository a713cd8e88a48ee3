package protocol

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/redlock/clock"
)

// holdScene is a story of one hold, as a scene is of a contender.
type holdScene struct {
	*testing.T
	conf Config
	h    Hold
	out  HoldEffects // of the last step

	begin clock.Instant // moments are counted from here
	now   time.Duration
	trip  time.Duration
}

// playHold tells a story of a hold that was won at m1 and m2 of three masters, once from each
// beginning.
func playHold(t *testing.T, won HoldEvent, story func(s *holdScene)) {
	t.Helper()
	for name, begin := range beginnings {
		t.Run(name, func(t *testing.T) {
			s := &holdScene{T: t, begin: begin, conf: Config{Masters: 3, Times: Usual}, trip: won.Trip}
			won.Kind, won.At, won.Wish.Lease = HoldWon, 0b011, lease
			won.Until = begin.Add(full)
			if won.Short {
				won.Until = begin.Add(shortValid)
			}
			s.step(won)
			story(s)
		})
	}
}

// at moves to a moment.
func (s *holdScene) at(moment time.Duration) *holdScene {
	s.now = moment
	return s
}

// step has ev happen, and checks what is so of each step.
func (s *holdScene) step(ev HoldEvent) *holdScene {
	s.Helper()
	ev.Trip = s.trip
	before, now := s.h, s.begin.Add(s.now)
	s.h.Step(&s.conf, now, &ev, &s.out)
	for _, wrong := range wrongsOfHold(&before, &s.h, now, &ev, &s.out) {
		s.Fatalf("at %v, after %+v: %s", s.now, ev, wrong)
	}
	return s
}

// does has something happen that its kind says all of.
func (s *holdScene) does(kind HoldKind) *holdScene {
	s.Helper()
	return s.step(HoldEvent{Kind: kind})
}

func (s *holdScene) renewed(until time.Duration) *holdScene {
	s.Helper()
	return s.step(HoldEvent{Kind: HoldRenewed, Until: s.begin.Add(until)})
}

// wants has the entries of the hold want something else.
func (s *holdScene) wants(w Wish) *holdScene {
	s.Helper()
	return s.step(HoldEvent{Kind: HoldWatch, Wish: w})
}

// want checks that the hold is live until a moment.
func (s *holdScene) want(state HoldState, until time.Duration) *holdScene {
	s.Helper()
	if got := s.h.Until.Sub(s.begin); s.h.State != state || got != until {
		s.Fatalf("at %v: %v until %v, want %v until %v", s.now, s.h.State, got, state, until)
	}
	return s
}

// wantEnd checks that the last step ended the hold, and gave it back.
func (s *holdScene) wantEnd(state HoldState, ended time.Duration, release Set) *holdScene {
	s.Helper()
	if got := s.h.Ended.Sub(s.begin); s.h.State != state || got != ended || s.out.Release != release {
		s.Fatalf("at %v: %v since %v, with a release at %b, want %v since %v, at %b",
			s.now, s.h.State, got, s.out.Release, state, ended, release)
	}
	return s
}

// wantDue checks when the next renewal is due.
func (s *holdScene) wantDue(moment time.Duration) *holdScene {
	s.Helper()
	if got := s.h.RenewAt.Sub(s.begin); !s.h.Due || got != moment {
		s.Errorf("at %v: a renewal is due: %v, at %v, want at %v", s.now, s.h.Due, got, moment)
	}
	return s
}

// wantNoneDue checks that no renewal is.
func (s *holdScene) wantNoneDue() *holdScene {
	s.Helper()
	if s.h.Due {
		s.Errorf("at %v: a renewal is due at %v, want none", s.now, s.h.RenewAt.Sub(s.begin))
	}
	return s
}

// wrongsOfHold returns what must not be of any step.
func wrongsOfHold(before, after *Hold, now clock.Instant, ev *HoldEvent, out *HoldEffects) (wrong []string) {
	check := func(ok bool, format string, args ...any) {
		if !ok {
			wrong = append(wrong, fmt.Sprintf(format, args...))
		}
	}
	ends := before.Live() && !after.Live()
	unsent := before.Unsent
	switch made := after.Live() && (ev.Kind == HoldRenew || ev.Kind == HoldExtend || ev.Kind == HoldDowngrade); {
	case made:
		unsent++
	case ev.Kind == HoldSent:
		unsent--
	}
	if ev.Kind != HoldWon {
		check(after.Unsent == unsent && out.Renew == (unsent > before.Unsent), "%d renewals to be sent, one of them made now: %v; want %d", after.Unsent, out.Renew, unsent)
	}
	if ev.Kind == HoldWon {
		check(after.Live() && after.Until == ev.Until && after.At == ev.At && after.Shared == ev.Shared, "%+v was won", *after)
		check(*out == HoldEffects{}, "%+v", *out)
		return wrong
	}
	check(holdArrowOf(before.State, after.State), "%v became %v: no arrow says so", before.State, after.State)
	check(!after.Live() || now.Left(after.Until) > 0, "%v, and validity is over", after.State)
	check(now.Left(after.Until) >= now.Left(before.Until), "validity has shrunk to %v", now.Left(after.Until))
	check(after.At&before.At == before.At, "forgot masters: %b, after %b", after.At, before.At)
	check(!after.Due || after.Live(), "a renewal is due of what is %v", after.State)
	check(!after.Due || after.State == Short || after.Watched, "a renewal is due that nobody wants")
	check(!after.Due || after.State == Short || !after.Limited || after.RenewAt.Left(after.Limit) > 0, "a renewal is due at the limit")
	check(after.Shared == (before.Shared || before.Live() && after.Live() && ev.Kind == HoldDowngrade), "shared: %v, and was %v", after.Shared, before.Shared)
	check(!ends || after.State != Lost || !ev.Writer || !before.Shared, "a reader was lost by a renewal for a writer")
	switch {
	case ends:
		at := after.At
		if ev.Kind == HoldSent {
			at |= ev.At
		}
		check(out.Release == at, "a release at %b of what may be at %b", out.Release, at)
		check(now.Left(after.Ended) <= 0 && after.Ended.Left(after.Until) >= 0, "ended at %v, valid until %v", after.Ended, after.Until)
	case !after.Live():
		want := HoldEffects{}
		if ev.Kind == HoldSent {
			want.Release = ev.At
		}
		same := *before
		same.Unsent = unsent
		check(*after == same && *out == want, "something became of what is %v: %+v", before.State, *out)
	default:
		check(out.Release == 0, "a release at %b of what is %v", out.Release, after.State)
		check(ev.Kind != HoldSent || after.At&ev.At == ev.At, "claims %b, and was sent to %b", after.At, ev.At)
	}
	return wrong
}

func holdArrowOf(from, to HoldState) bool {
	return from == to || slices.ContainsFunc(HoldArrows, func(a HoldArrow) bool { return a.From == from && a.To == to })
}
