package attempt

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/check"
)

var update = flag.Bool("update", false, "write what comes of the stories, and the picture of docs/how-it-works.md")

// The stories in testdata say who asks, what is answered, what is sent, and how the attempt stands then. A line that is
// not indented makes something happen, and those below it are what comes of that.
//
//	masters 3, lease 10s, waits    begins a story: see story.begin
//	5ms m1 yes 7, m2 yes 7         at 5 ms m1 and m2 answer: see story.event
//
// After a change that is meant: go test ./multilock/attempt -run TestStories -update, and look at the difference.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	took := map[Arrow]bool{}
	for _, file := range files {
		was := check.File(t, file)
		for name, begin := range map[string]clock.Instant{
			"at the epoch":     {}, // a zero instant has to mean nothing
			"before the epoch": clock.Instant{}.Add(-26 * 365 * 24 * time.Hour),
			"after the epoch":  clock.Instant{}.Add(time.Hour + 1),
		} {
			t.Run(strings.TrimSuffix(filepath.Base(file), ".txt")+"/"+name, func(t *testing.T) {
				got, stories := tell(t, was, begin)
				for _, s := range stories {
					maps.Copy(took, s.took)
				}
				switch {
				case got == was:
				case *update:
					check.OK(t, os.WriteFile(file, []byte(got), 0o644))
				default:
					t.Errorf("%s: %s\n-update writes what comes of it", file, firstDifference(was, got))
				}
			})
		}
	}
	for _, a := range Arrows {
		check.That(t, took[Arrow{From: a.From, To: a.To}], "no story goes from %v to %v (%s)", a.From, a.To, a.Why)
	}
}

// No step allocates: those of the stories are taken once more, with room for their entries.
func TestStepsDoNotAllocate(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	check.OK(t, err)
	for _, file := range files {
		_, stories := tell(t, check.File(t, file), clock.Instant{})
		for i, s := range stories {
			masters, rounds, room := make([]Master, s.conf.Masters), make([]Round, MaxRounds), make([]Entry, 0, len(s.steps))
			var out Effects
			check.Equal(t, testing.AllocsPerRun(1, func() {
				clear(masters)
				clear(rounds)
				c := Attempt{Want: s.want, Entries: room, Masters: masters, Rounds: rounds}
				for j := range s.steps {
					c.Step(&s.conf, s.steps[j].now, &s.steps[j].ev, &out)
				}
			}), 0, "%s, story %d: allocations", file, i+1)
		}
	}
}

func firstDifference(was, got string) string {
	a, b := strings.Split(was, "\n"), strings.Split(got, "\n")
	last := ""
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d, after %q:\n    %s\nwant\n    %s", i+1, last, strings.TrimSpace(b[i]), strings.TrimSpace(a[i]))
		}
		if !strings.HasPrefix(a[i], " ") {
			last = a[i]
		}
	}
	return "it has another length"
}

// tell plays the stories of a file, and returns the file with what comes of them.
func tell(t *testing.T, text string, begin clock.Instant) (with string, all []*story) {
	var s *story
	var out strings.Builder
	for i, line := range strings.Split(strings.TrimSuffix(text, "\n"), "\n") {
		if strings.HasPrefix(line, " ") {
			continue
		}
		fmt.Fprintln(&out, line)
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "masters "):
			s = newStory(begin, line)
			all = append(all, s)
		default:
			for _, told := range s.play(line) {
				fmt.Fprintf(&out, "      %s\n", told)
			}
		}
		if s != nil && s.wrong != "" {
			t.Fatalf("line %d, %q: %s", i+1, line, s.wrong)
		}
	}
	return out.String(), all
}

// story is what becomes of one attempt.
type story struct {
	Attempt
	conf  Config
	begin clock.Instant // moments are counted from here
	now   time.Duration
	trip  time.Duration
	lot   uint32
	deaf  bool
	wrong string
	want  Want // in the beginning
	steps []step
	took  map[Arrow]bool
}

// step is what happened, and when.
type step struct {
	now clock.Instant
	ev  Event
}

// newStory begins a story: how many masters there are, and what is wanted of them.
func newStory(begin clock.Instant, line string) *story {
	s := &story{begin: begin, conf: Config{Times: Usual}, took: map[Arrow]bool{}}
	s.conf.Grid = 0 // or moments depend on the beginning
	for part := range strings.SplitSeq(line, ", ") {
		switch w := strings.Fields(part); w[0] {
		case "masters":
			s.conf.Masters = s.number(w[1])
			s.Masters, s.Rounds = make([]Master, s.conf.Masters), make([]Round, 2)
		case "lease":
			s.Want.Lease = s.time(w[1])
		case "waits":
			s.Want.Wait = true
		case "reads":
			s.Want.Shared = true
		case "keeps":
			s.Want.Keep, s.conf.Keep = true, s.time(w[1])
		case "trip":
			s.trip = s.time(w[1])
		case "lot": // of 100
			s.lot = uint32(uint64(s.number(w[1])) << 32 / 100)
		case "deaf":
			s.deaf = true
		default:
			s.wrong = "what is " + w[0]
		}
	}
	s.want = s.Want
	return s
}

// play has happen what a line says, and tells what comes of it.
func (s *story) play(line string) (told []string) {
	moment, rest, _ := strings.Cut(line, " ")
	if moment == "wake" {
		at, ok := s.Wake()
		if !ok {
			s.wrong = "nothing is due"
		}
		s.now, rest = max(s.now, at.Sub(s.begin)), "due"
	} else if moment == "renewal" {
		s.now, rest = s.RenewAt.Sub(s.begin), "renew"
	} else if at, err := time.ParseDuration(moment); err == nil {
		s.now = at
	} else {
		rest = line
	}
	for one := range strings.SplitSeq(rest, ", ") {
		ev := s.event(strings.Fields(one))
		if ev == nil {
			continue
		}
		ev.Trip, ev.Lot, ev.Told = s.trip, s.lot, !s.deaf
		before, until := s.State, s.Until
		s.steps = append(s.steps, step{s.begin.Add(s.now), *ev})
		var out Effects
		s.Step(&s.conf, s.begin.Add(s.now), ev, &out)
		s.check(before, until, &out)
		told = append(told, s.effects(&out)...)
	}
	return append(told, s.stands())
}

// event reads what happens: to an entry, of a master, or to the attempt. It is nil if that has happened.
func (s *story) event(w []string) *Event {
	ev := &Event{Try: s.Try, Round: s.Round}
	word := func(i int) string {
		if i < len(w) {
			return w[i]
		}
		return ""
	}
	if i, err := strconv.Atoi(strings.TrimPrefix(w[0], "m")); err == nil && w[0][0] == 'm' {
		ev.Kind, ev.Master = Answer, i-1
		s.said(ev, w[1:])
		return ev
	}
	switch w[0] {
	case "start", "enter", "leave", "rewish":
		ev.Kind = map[string]Kind{"start": Start, "enter": Enter, "leave": Leave, "rewish": Rewish}[w[0]]
		ev.Key, ev.Wish.Lease = word(1), s.Want.Lease
		for i := 2; i < len(w); i++ {
			switch w[i] {
			case "watched":
				ev.Wish.Watched = true
			case "for":
				ev.Wish.For = s.time(w[i+1])
			case "lease":
				ev.Wish.Lease = s.time(w[i+1])
			case "reads":
				ev.Shared = true
			case "keep":
				ev.Keep = true
			case "follows":
				ev.Follow = true
			}
		}
	case "leak":
		s.Leak(word(1))
		return nil
	case "extend":
		ev.Kind, ev.Lease = Renew, s.time(w[1])
	case "agree":
		ev.Kind, ev.Token = Agree, int64(s.number(w[1]))
	case "hint":
		ev.Kind, ev.Delay = Hint, s.time(w[1])
	case "doubt":
		ev.Kind, ev.Master = Doubt, s.number(w[1][1:])-1
	case "due", "wanted", "renew", "downgrade", "lose", "end":
		ev.Kind = map[string]Kind{"due": Due, "wanted": Wanted, "renew": Renew, "downgrade": Downgrade, "lose": Lose, "end": End}[w[0]]
		if word(1) == "owner" {
			ev.Try = uint32(s.number(word(2)))
		}
	default:
		s.wrong = "what is " + w[0]
	}
	return ev
}

// said reads what a master says.
func (s *story) said(ev *Event, w []string) {
	outcomes := map[string]Outcome{"yes": Yes, "no": No, "silent": Unknown, "unsent": Unsent, "errs": Errored, "hopeless": Errored}
	if w[0] == "followed" {
		ev.Kind, ev.Outcome = Followed, Yes
	} else if w[0] == "hands-off" {
		ev.Kind = HandedOff
	} else if o, ok := outcomes[w[0]]; ok {
		ev.Outcome, ev.Hopeless = o, w[0] == "hopeless"
	} else {
		s.wrong = "what is " + w[0]
	}
	for i := 1; i < len(w); i++ {
		switch d, err := time.ParseDuration(w[i]); {
		case strings.HasPrefix(w[i], "#"):
			ev.Round = uint32(s.number(w[i][1:]))
		case w[i] == "silent", w[i] == "unsent":
			ev.Outcome = outcomes[w[i]]
		case w[i] == "owner":
			i++
			ev.Try = uint32(s.number(w[i]))
		case w[i] == "behind":
			i++
			ev.Ahead = s.number(w[i])
		case w[i] == "own":
			ev.Holder |= Ours
		case w[i] == "keeper":
			ev.Holder |= Keeps
		case len(w[i]) == 1 && w[i] >= "p":
			ev.Holder |= Holder(w[i][0])
		case w[i] == "forever":
			ev.Left = 1<<63 - 1
		case err == nil && w[i] != "0":
			ev.Left = d
		default:
			ev.Token = int64(s.number(w[i]))
		}
	}
}

func (s *story) number(w string) int {
	n, err := strconv.Atoi(w)
	if err != nil {
		s.wrong = err.Error()
	}
	return n
}

func (s *story) time(w string) time.Duration {
	d, err := time.ParseDuration(w)
	if err != nil {
		s.wrong = err.Error()
	}
	return d
}

// check looks for what must not be of any step.
func (s *story) check(before State, until clock.Instant, out *Effects) {
	arrow := before == s.State
	s.took[Arrow{From: before, To: s.State}] = true
	for _, a := range Arrows {
		arrow = arrow || a.From == before && a.To == s.State
	}
	switch {
	case !arrow:
		s.wrong = fmt.Sprintf("%v became %v: no arrow says so", before, s.State)
	case (s.State == Ended) != (s.Why != NotEnded):
		s.wrong = fmt.Sprintf("%v, and %v", s.State, s.Why)
	case s.has() && reached(s.begin.Add(s.now), s.Until):
		s.wrong = "it is held, and its validity is over"
	case before == Held && s.State == Held && s.Until.Sub(until) < 0:
		s.wrong = "its validity was cut"
	case out.Release&out.Yield != 0 || (out.Release|out.Yield) != 0 && !out.NewOwner:
		s.wrong = fmt.Sprintf("it wants %+v", *out)
	}
}

// effects tells what a step wants done.
func (s *story) effects(out *Effects) (told []string) {
	say := func(ok bool, format string, args ...any) {
		if ok {
			told = append(told, fmt.Sprintf(format, args...))
		}
	}
	r := &out.Round
	say(out.Settled > 0, "#%d is %s", out.Settled, []string{"", "confirmed", "not confirmed", "denied"}[out.Result])
	say(out.NewOwner, "owner %d", s.Try)
	if out.Send != 0 {
		text := fmt.Sprintf("%v #%d at %s", r.Command, r.Number, s.set(out.Send))
		switch r.Command {
		case Ask, Register, Follow:
			if s.Want.Wait {
				text += fmt.Sprintf(", for a hand-off of %v", r.Lease)
			}
		case Raise:
			text += fmt.Sprintf(" to %d", r.Token)
		case Extend:
			text += fmt.Sprintf(" for %v, token %d, count %d", r.Lease, r.Token, r.Count)
		case Count:
			text += fmt.Sprintf(" %d for %v", r.Count, r.Lease)
		}
		if r.Shared {
			text += ", as a reader"
		}
		say(true, "%s", text)
	}
	say(out.Release != 0, "release owner %d at %s", s.Try-1, s.set(out.Release))
	say(out.Yield != 0, "release owner %d at %s, to nobody", s.Try-1, s.set(out.Yield))
	return told
}

// stands tells how the attempt stands.
func (s *story) stands() string {
	at := func(i clock.Instant) string { return i.Sub(s.begin).String() }
	var text strings.Builder
	text.WriteString(s.State.String())
	switch s.State {
	case Waiting, Paused:
		text.WriteString(", asks at " + at(s.AskAt))
	case Minority:
		text.WriteString(", backs off at " + at(s.GiveBackAt))
		if s.AskAt.Left(s.GiveBackAt) >= 0 {
			text.WriteString(", asks at " + at(s.AskAt))
		}
	case Settling:
		text.WriteString(", valid until " + at(s.Until))
	case Held:
		text.WriteString(fmt.Sprintf(" until %s, token %d", at(s.Until), s.Token))
		if s.Short {
			text.WriteString(", short")
		}
		for _, e := range s.Entries {
			text.WriteString(fmt.Sprintf(", %v%s", e.Key, []string{"?", "", " leaked"}[e.State]))
		}
		if s.Due {
			text.WriteString(", renewal at " + at(s.RenewAt))
		}
	case Kept:
		text.WriteString(fmt.Sprintf(" until %s, token %d", at(s.GiveBackAt), s.Token))
	case Ended:
		text.WriteString(fmt.Sprintf(" (%v) at %s", s.Why, at(s.Until)))
	}
	return text.String()
}

// set tells a set of masters.
func (s *story) set(at Set) string {
	if at == All(s.conf.Masters) {
		return "all"
	}
	var names []string
	for i := range s.conf.Masters {
		if at.Has(i) {
			names = append(names, fmt.Sprint("m", i+1))
		}
	}
	return strings.Join(names, " ")
}
