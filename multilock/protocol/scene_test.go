package protocol

import (
	"math"
	"slices"
	"testing"
	"time"

	"example.com/redlock/clock"
)

const (
	ms    = time.Millisecond
	lease = 10 * time.Second

	// What the first rounds want the lock handed off for, and how long such a hand-off is a vote.
	shortLease = 2 * 200 * ms
)

var (
	full       = clock.Validity(lease, 0)
	shortValid = clock.Validity(shortLease, 0)

	waits   = Want{Lease: lease, Wait: true}
	tries   = Want{Lease: lease}
	reenter = Want{Lease: lease, Again: true}
)

// Other owners.
const (
	x Holder = 1 + iota
	y
	z
)

// beginnings are where the clocks of a test stand when it begins. A zero instant has to mean nothing.
var beginnings = map[string]clock.Instant{
	"at the epoch":     {},
	"before the epoch": clock.Instant{}.Add(-26 * 365 * 24 * time.Hour), // as in a synctest bubble
	"after the epoch":  clock.Instant{}.Add(time.Hour + 1),
}

// scene is a story of one contender: events at moments that the test chooses, and what has to come
// of each. Nothing runs but Step.
type scene struct {
	*testing.T
	conf Config
	c    Contender
	out  Effects // of the last step

	begin clock.Instant // moments are counted from here
	now   time.Duration

	trip   time.Duration
	lot    uint32
	deaf   bool // it does not hear of hand-offs
	ledger ledger
}

// play tells a story of a contender on n masters, once from each beginning.
func play(t *testing.T, n int, want Want, story func(s *scene)) {
	t.Helper()
	for name, begin := range beginnings {
		t.Run(name, func(t *testing.T) {
			s := &scene{T: t, begin: begin, c: Contender{Want: want}, conf: Config{Masters: n, Times: Usual}}
			s.conf.Grid = 0 // or moments depend on the beginning
			story(s)
		})
	}
}

// at moves to a moment.
func (s *scene) at(moment time.Duration) *scene {
	s.now = moment
	return s
}

// step has ev happen, and checks what is so of each step.
func (s *scene) step(ev Event) *scene {
	s.Helper()
	ev.Trip, ev.Lot, ev.Told = s.trip, s.lot, !s.deaf
	before, now := s.c, s.begin.Add(s.now)
	s.c.Step(&s.conf, now, &ev, &s.out)
	for _, wrong := range s.ledger.wrongs(&s.conf, &before, &s.c, now, &ev, &s.out) {
		s.Fatalf("at %v, after %+v: %s", s.now, ev, wrong)
	}
	return s
}

func (s *scene) start() *scene       { s.Helper(); return s.step(Event{Kind: Start}) }
func (s *scene) enter(at Set) *scene { s.Helper(); return s.step(Event{Kind: Enter, At: at}) }
func (s *scene) take() *scene        { s.Helper(); return s.step(Event{Kind: Take}) }
func (s *scene) giveUp() *scene      { s.Helper(); return s.step(Event{Kind: GiveUp}) }
func (s *scene) due() *scene         { s.Helper(); return s.step(Event{Kind: Due}) }

func (s *scene) hint(delay time.Duration) *scene {
	s.Helper()
	return s.step(Event{Kind: Hint, Delay: delay})
}

// wake moves to the moment when something is due, and does it.
func (s *scene) wake() *scene {
	s.Helper()
	at, ok := s.c.Wake()
	if !ok {
		s.Fatalf("at %v: nothing is due in %v", s.now, s.c.State)
	}
	s.now = max(s.now, at.Sub(s.begin))
	before := s.c
	if s.due(); s.c == before {
		s.Fatalf("at %v: nothing came of what was due in %v", s.now, s.c.State)
	}
	return s
}

// round asks the next round at a moment, whatever was planned.
func (s *scene) round(moment time.Duration) *scene {
	s.Helper()
	return s.at(moment - s.conf.Settle).hint(0).at(moment).due()
}

// reply is what a master answered, to the last round of the present owner.
type reply Event

func yes(token int64) reply { return reply{Outcome: Yes, Token: token} }
func busy(holder Holder, left time.Duration) reply {
	return reply{Outcome: No, Holder: holder, Left: left}
}

var (
	errored  = reply{Outcome: Errored}
	silent   = reply{Outcome: Unknown}
	unsent   = reply{Outcome: Unsent}
	hopeless = reply{Outcome: Errored, Hopeless: true}
)

// to makes it the answer to another round.
func (r reply) to(round uint32) reply {
	r.Round = round
	return r
}

// behind has it tell how many stand before the caller.
func (r reply) behind(n int) reply {
	r.Ahead = n
	return r
}

// of makes it an answer to another owner.
func (r reply) of(try uint32) reply {
	r.Try = try
	return r
}

// answer has master i answer.
func (s *scene) answer(i int, r reply) *scene {
	s.Helper()
	ev := Event(r)
	ev.Kind, ev.Master = Answer, i
	if ev.Round == 0 {
		ev.Round = s.c.Round
	}
	if ev.Try == 0 {
		ev.Try = s.c.Try
	}
	return s.step(ev)
}

// answers has the masters answer, from the first one on.
func (s *scene) answers(replies ...reply) *scene {
	s.Helper()
	for i, r := range replies {
		s.answer(i, r)
	}
	return s
}

// allAnswer has all masters answer alike.
func (s *scene) allAnswer(r reply) *scene {
	s.Helper()
	return s.answers(slices.Repeat([]reply{r}, s.conf.Masters)...)
}

// handOff has master i hand the lock off, naming a round.
func (s *scene) handOff(i int, round uint32, token int64) *scene {
	s.Helper()
	return s.step(Event{Kind: HandedOff, Master: i, Try: s.c.Try, Round: round, Token: token})
}

func (s *scene) entered(i int, o Outcome) *scene {
	s.Helper()
	return s.step(Event{Kind: Entered, Master: i, Try: s.c.Try, Outcome: o})
}

// raised has master i answer the raise under way.
func (s *scene) raised(i int, o Outcome, token int64) *scene {
	s.Helper()
	return s.step(Event{Kind: Raised, Master: i, Try: s.c.Try, Round: uint32(s.c.Raises), Outcome: o, Token: token})
}

// want checks the state.
func (s *scene) want(state State) *scene {
	s.Helper()
	if s.c.State != state {
		s.Fatalf("at %v: the contender is %v, want %v", s.now, s.c.State, state)
	}
	return s
}

// wantFailed checks that the last step was the end, for a reason, and gave back what may be at the
// masters in release.
func (s *scene) wantFailed(why Verdict, release Set) *scene {
	s.Helper()
	s.want(Failed)
	if s.c.Verdict != why || s.out.Release != release || s.out.Enter || s.out.Yield != 0 || s.out.NewOwner {
		s.Errorf("at %v: verdict %d with %+v, want %d and a release at %b", s.now, s.c.Verdict, s.out, why, release)
	}
	return s
}

// wantWon checks what was won.
func (s *scene) wantWon(until time.Duration, short bool, token int64) *scene {
	s.Helper()
	s.want(Won)
	if got := s.c.Until.Sub(s.begin); got != until || s.c.Short != short || s.c.Token != token {
		s.Errorf("at %v: won until %v, short %v, with token %d, want %v, %v, %d", s.now, got, s.c.Short, s.c.Token, until, short, token)
	}
	return s
}

// wantRound checks that the last step sent a round.
func (s *scene) wantRound(to Set, command Command, lease time.Duration) *scene {
	s.Helper()
	if s.out.Ask != to || s.out.Command != command || s.out.Lease != lease || s.out.Round != s.c.Round {
		s.Errorf("at %v: round %d of command %d to %b, for %v, want command %d to %b, for %v",
			s.now, s.out.Round, s.out.Command, s.out.Ask, s.out.Lease, command, to, lease)
	}
	return s
}

// wantRaise checks that the last step had masters raise their counters.
func (s *scene) wantRaise(at Set, to int64) *scene {
	s.Helper()
	s.want(Settling)
	if s.out.Raise != at || s.out.RaiseTo != to {
		s.Errorf("at %v: a raise at %b to %d, want at %b to %d", s.now, s.out.Raise, s.out.RaiseTo, at, to)
	}
	return s
}

// wantGivenBack checks that the last step gave back what the owner had, in part to nobody, and made
// a new one.
func (s *scene) wantGivenBack(at, yield Set, enter bool) *scene {
	s.Helper()
	if out := s.out; out.Release != at || out.Yield != yield || out.Enter != enter || !out.NewOwner {
		s.Errorf("at %v: %+v, want a new owner, and a release at %b, at %b to nobody, enter %v", s.now, out, at, yield, enter)
	}
	return s
}

// wantQuiet checks that the last step sent nothing.
func (s *scene) wantQuiet() *scene {
	s.Helper()
	if out := s.out; out.Ask|out.Release|out.Raise != 0 || out.Enter || out.NewOwner || out.Stock {
		s.Errorf("at %v: %+v, want nothing sent", s.now, out)
	}
	return s
}

// wantWake checks when something is due next.
func (s *scene) wantWake(moment time.Duration) *scene {
	s.Helper()
	at, ok := s.c.Wake()
	if got := at.Sub(s.begin); !ok || got != moment {
		s.Errorf("at %v: something is due in %v: %v, at %v, want at %v", s.now, s.c.State, ok, got, moment)
	}
	return s
}

// wantNoWake checks that nothing is timed.
func (s *scene) wantNoWake() *scene {
	s.Helper()
	if at, ok := s.c.Wake(); ok {
		s.Errorf("at %v: something is due in %v at %v, want nothing", s.now, s.c.State, at.Sub(s.begin))
	}
	return s
}

// lots are the least and the largest that can be drawn, and one in between.
var lots = []uint32{0, 1 << 31, math.MaxUint32}
