package redlock_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
	"example.com/redlock/redlocktrace"
)

// TestSequences: the diagrams of the pages show what the traces of clients A and B tell. To write them:
// go test ./redlock -run TestSequences -update
func TestSequences(t *testing.T) {
	for name, act := range map[string]func(t *testing.T, fleet *redlocktest.Fleet, a, b *redlock.Client){
		"lock": func(t *testing.T, _ *redlocktest.Fleet, a, _ *redlock.Client) {
			hold := lock(t, t.Context(), a, "orders:42")
			time.Sleep(time.Second)
			unlock(t, hold)
		},
		"hand-off": func(t *testing.T, _ *redlocktest.Fleet, a, b *redlock.Client) {
			hold := lock(t, t.Context(), a, "orders:42")
			time.Sleep(100 * time.Millisecond)
			next := locking(t, b, "orders:42")
			time.Sleep(15 * time.Millisecond)
			unlock(t, hold)
			next.returned(t)
			time.Sleep(50 * time.Millisecond)
		},
		"restart guard": func(t *testing.T, fleet *redlocktest.Fleet, a, b *redlock.Client) {
			lock(t, t.Context(), a, "orders:42")
			time.Sleep(time.Second)
			fleet.Master(0).Restart()
			time.Sleep(time.Second)
			expect(t, "TryLock", second(b.TryLock(t.Context(), "orders:42")), redlock.ErrTaken)
			time.Sleep(41 * time.Second)
		},
		"kept": func(t *testing.T, _ *redlocktest.Fleet, a, b *redlock.Client) {
			for range 2 {
				hold := lock(t, t.Context(), a, "orders:42")
				time.Sleep(20 * time.Millisecond)
				unlock(t, hold)
				time.Sleep(20 * time.Millisecond)
			}
			lock(t, t.Context(), b, "orders:42")
			time.Sleep(10 * time.Millisecond)
		},
	} {
		page := "../docs/how-it-works.md"
		cfg := redlock.Config{RestartGuard: lease}
		if name == "kept" {
			page, cfg.Keep = "../docs/kept.md", 5*time.Second
		}
		was := check.File(t, page)
		text := was
		synctest.Test(t, func(t *testing.T) {
			fleet := redlocktest.Start(t, 3)
			both := []*side{{name: "A"}, {name: "B"}}
			for _, s := range both {
				cfg.Trace = s.trace()
				s.Client = open(t, fleet, cfg)
				use(t, s.Client, "warm")
			}
			time.Sleep(time.Second) // until they have subscribed
			for i, m := range fleet.Masters() {
				m.Delay([]time.Duration{1000, 2300, 3700}[i] * time.Microsecond) // no two messages come at one instant
			}
			both[0].take()
			both[1].take()
			var d diagram
			began := time.Now()
			act(t, fleet, both[0].Client, both[1].Client)
			for _, s := range both {
				for _, e := range s.take() {
					s.draw(&d, e)
				}
			}
			text = d.into(t, text, name, began)
		})
		switch {
		case text == was:
		case !*update:
			t.Errorf("%s shows another diagram %q than the traces; -update writes it", page, name)
		default:
			check.OK(t, os.WriteFile(page, []byte(text), 0o644))
		}
	}
}

// side is a client in a diagram.
type side struct {
	*redlock.Client
	recorder
	name      string
	releasing map[string]bool // masters that have yet to answer the release
}

// draw adds what an event shows to a diagram.
func (s *side) draw(d *diagram, event any) {
	call := func(at time.Time, master string, what any) { d.add(at, "%s->>%s: %v", s.name, mN(master), what) }
	answer := func(at time.Time, master string, what any) { d.add(at, "%s-->>%s: %v", mN(master), s.name, what) }
	note := func(at time.Time, format string, args ...any) {
		d.add(at, "Note over "+s.name+": "+format, args...)
	}
	release := func(at time.Time) {
		s.releasing = map[string]bool{}
		for i := range 3 {
			m := fmt.Sprintf("pool %d", i)
			s.releasing[m] = true
			call(at, m, "release")
		}
	}
	switch e := event.(type) {
	case redlocktrace.CallStarted:
		note(e.Time, map[bool]string{true: "Lock", false: "TryLock"}[e.Wait])
	case redlocktrace.Voted:
		if e.Vote == redlocktrace.VoteUnsent {
			note(e.Time, "%s is guarded, and not asked", mN(e.Master))
			return
		}
		if e.Vote == redlocktrace.VoteHandedOff {
			answer(e.Time, e.Master, "handed off")
			return
		}
		call(e.Time.Add(-e.Took), e.Master, e.Ask)
		answer(e.Time, e.Master, e.Vote)
	case redlocktrace.Waiting:
		note(e.Time, "waits in the queue")
	case redlocktrace.CallDone:
		note(e.Time, "%s", e.Outcome)
	case redlocktrace.Renewed:
		note(e.Time, "renewal %s", e.Result)
		for _, m := range e.Healed {
			note(e.Time, "%s has the hold again", mN(m))
		}
	case redlocktrace.HoldEnded:
		note(e.Time, "Unlock")
		release(e.Time)
	case redlocktrace.Answered:
		if s.releasing[e.Master] {
			delete(s.releasing, e.Master)
			answer(e.Time, e.Master, "released")
		}
	case redlocktrace.Released:
		switch {
		case e.Kept:
			*d, s.releasing = (*d)[:len(*d)-3], nil
			note(e.Time, "keeps the lock")
		case e.Why != "":
			note(e.Time, "it is %s", e.Why)
			release(e.Time)
		default:
			note(e.Time, "free")
		}
	case redlocktrace.MasterChanged:
		if s.name == "A" {
			d.add(e.Time, "Note over %s: %s", mN(e.Master), e.State)
		}
	}
}

// mN returns m1 for the first master of a fleet.
func mN(pool string) string { return "m" + string(pool[len(pool)-1]+1) }

// diagram is a sequence diagram in Mermaid's language.
type diagram []drawn

type drawn struct {
	at   time.Time
	text string
}

func (d *diagram) add(at time.Time, format string, args ...any) {
	*d = append(*d, drawn{at, fmt.Sprintf(format, args...)})
}

// into replaces the diagram of a name in text. Notes tell the time since began.
func (d diagram) into(t *testing.T, text, name string, began time.Time) string {
	t.Helper()
	begin, end := "<!-- sequence: "+name+" -->\n", "<!-- /sequence -->\n"
	before, rest, ok := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("no %q with its %q", begin, end)
	}
	slices.SortStableFunc(d, func(x, y drawn) int { return x.at.Compare(y.at) })
	lines := []string{"```mermaid", "sequenceDiagram"}
	for _, p := range []string{"A", "m1", "m2", "m3", "B"} {
		lines = append(lines, "    participant "+p)
	}
	for _, l := range d {
		if who, what, ok := strings.Cut(l.text, ": "); ok && strings.HasPrefix(who, "Note") {
			grain := time.Millisecond
			if l.at.Sub(began) > time.Second {
				grain = time.Second
			}
			l.text = fmt.Sprintf("%s: %v, %s", who, l.at.Sub(began).Round(grain), what)
		}
		lines = append(lines, "    "+l.text)
	}
	return before + begin + strings.Join(lines, "\n") + "\n```\n" + end + after
}
