package redlock_test

import (
	"context"
	"fmt"
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

// tale is what happens to a client that is traced. The masters answer after 2, 4 and 8 ms.
type tale struct {
	*recorder
	fleet    *redlocktest.Fleet
	c, other *redlock.Client // of which the first is traced
	text     strings.Builder
}

// tell adds lines of the trace, below a headline.
func (s *tale) tell(what string, lines []string) {
	fmt.Fprintf(&s.text, "%s:\n", what)
	for _, line := range lines {
		fmt.Fprintf(&s.text, "\t%s\n", line)
	}
}

// inTurn makes the masters of a fleet answer one after the other.
func inTurn(fleet *redlocktest.Fleet) {
	for i, m := range fleet.Masters() {
		m.Delay(time.Millisecond << i)
	}
}

var tales = []struct {
	name string
	play func(t *testing.T, s *tale)
}{
	{"a waiter is told its place in the queue, and of each hand-off", func(t *testing.T, s *tale) {
		first := lock(t, t.Context(), s.other, "a")
		second := locking(t, open(t, s.fleet, redlock.Config{}), "a")
		time.Sleep(100 * time.Millisecond)
		third := locking(t, s.c, "a")
		time.Sleep(15 * time.Millisecond)
		s.tell("Lock of a taken name", s.steps())
		time.Sleep(5 * time.Second)
		s.tell("a wait in which nothing changes", s.turns())
		unlock(t, first)
		hold := second.returned(t)
		time.Sleep(2 * time.Second)
		s.tell("the first Unlock", s.turns())
		unlock(t, hold)
		hold = third.returned(t)
		time.Sleep(time.Second)
		s.tell("the second Unlock", s.turns())
		unlock(t, hold)
		time.Sleep(time.Second)
		s.tell("its own Unlock", s.turns())
	}},
	// The masters' queue does not have it until it is the first of its client's callers: a release enters it.
	{"a caller that waits behind others of its client is told how many", func(t *testing.T, s *tale) {
		hold := lock(t, t.Context(), s.c, "a")
		second, third := locking(t, s.c, "a"), locking(t, s.c, "a")
		time.Sleep(time.Second)
		s.tell("three callers", s.turns())
		unlock(t, hold)
		hold = second.returned(t)
		time.Sleep(time.Second)
		s.tell("the first Unlock", s.turns())
		fourth := locking(t, s.c, "a")
		unlock(t, hold)
		hold = third.returned(t)
		synctest.Wait()
		s.take()
		unlock(t, hold) // at once
		hold = fourth.returned(t)
		synctest.Wait()
		s.tell("an Unlock at once", s.turns())
		unlock(t, hold)
	}},
	{"a call that waits through an outage says so, and goes on when that ends", func(t *testing.T, s *tale) {
		each(s.fleet, 0, 2, (*redlocktest.Master).Kill)
		time.Sleep(2 * time.Second)
		got := locking(t, s.c, "a")
		time.Sleep(5 * time.Millisecond)
		s.tell("Lock in an outage", s.steps())
		time.Sleep(2 * time.Second)
		s.take()
		s.fleet.Master(0).Restart()
		hold := got.returned(t)
		time.Sleep(time.Millisecond)
		if turns := s.turns(); !slices.Contains(turns, "2: acquired") || slices.ContainsFunc(turns, func(s string) bool { return strings.HasPrefix(s, "2: waiting") }) {
			t.Errorf("the end of the outage told %q, want one acquired, and no more waiting", turns)
		}
		unlock(t, hold)
	}},
	{"a call whose context ends gives back what it may have", func(t *testing.T, s *tale) {
		defer unlock(t, lock(t, t.Context(), s.other, "a"))
		ctx := within(t, t.Context(), 100*time.Millisecond)
		expect(t, "Lock", second(s.c.Lock(ctx, "a")), redlock.ErrTaken, context.DeadlineExceeded)
		time.Sleep(time.Second)
		s.tell("Lock whose context ends", s.turns())
	}},
	{"a renewal tells the validity before and after it, and the masters that it healed", func(t *testing.T, s *tale) {
		hold := lock(t, t.Context(), s.c, "a")
		time.Sleep(time.Second)
		s.take()
		s.fleet.Master(0).Del("a")
		time.Sleep(renewEvery)
		told := s.take()
		if i := slices.IndexFunc(told, func(e any) bool { _, ok := e.(redlocktrace.Renewed); return ok }); i < 0 {
			t.Errorf("a renewal told %v", told)
		} else if got := told[i].(redlocktrace.Renewed); got.Left != validity-renewEvery-4*time.Millisecond || got.Validity != validity-4*time.Millisecond ||
			got.Took != 4*time.Millisecond || !slices.Equal(got.Healed, []string{"pool 0"}) || got.Owner != hold.Owner() || got.Token != hold.Token() {
			t.Errorf("Renewed = %+v", got)
		}
		s.fleet.Master(0).Del("a")
		expect(t, "Extend", hold.Extend(t.Context(), lease))
		expect(t, "Downgrade", hold.Downgrade(t.Context()))
		time.Sleep(time.Second)
		s.tell("Extend and Downgrade", s.steps())
		each(s.fleet, 0, 2, (*redlocktest.Master).Freeze)
		time.Sleep(renewEvery)
		s.tell("a renewal without a majority", s.steps())
		each(s.fleet, 0, 2, (*redlocktest.Master).Thaw)
		time.Sleep(time.Second)
		unlock(t, hold)
	}},
	{"Close ends holds and calls, and nothing is told after it", func(t *testing.T, s *tale) {
		hold := lock(t, t.Context(), s.c, "a")
		locking(t, s.c, "a")
		time.Sleep(time.Second)
		s.take()
		expect(t, "Close", s.c.Close())
		s.mu.Lock() // without waiting
		last := s.events[len(s.events)-1]
		s.mu.Unlock()
		e, _ := last.(redlocktrace.ClientChanged)
		check.That(t, e.State == redlocktrace.ClientClosed, "the last event when Close has returned is %T %[1]v, want ClientClosed", last)
		s.tell("Close", s.turns())
		expect(t, "Lock", second(s.c.Lock(t.Context(), "a")), redlock.ErrClosed)
		expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrClosed)
		time.Sleep(time.Minute)
		check.Equal(t, len(s.take()), 0, "events of a closed client")
	}},
	{"readers have holds of their own, and one that cannot become a writer is told so", func(t *testing.T, s *tale) {
		hold := lock(t, redlock.WithOwner(t.Context()), s.c, "a", redlock.Shared())
		expect(t, "Lock", second(s.c.Lock(hold.Context(), "a")), redlock.ErrUpgrade)
		unlock(t, hold)
		time.Sleep(time.Second)
		s.tell("a reader", s.turns())
	}},
	{"a hold ends once, whatever ends it", func(t *testing.T, s *tale) {
		hold := lock(t, t.Context(), s.c, "a")
		time.Sleep(time.Second)
		s.take()
		seize(s.fleet, 0, 2)
		<-hold.Context().Done()
		time.Sleep(time.Second)
		expect(t, "Unlock", hold.Unlock(t.Context()), redlock.ErrLost)
		s.tell("a hold that others have taken", s.steps())
		hold = lock(t, t.Context(), s.c, "b", redlock.Lease(time.Second))
		time.Sleep(100 * time.Millisecond)
		s.take()
		<-hold.Context().Done()
		time.Sleep(time.Second)
		s.tell("a lease that ends", s.steps())
	}},
	{"a minority of votes is given back behind the ask of the next try", func(t *testing.T, s *tale) {
		each(s.fleet, 1, 3, func(m *redlocktest.Master) {
			m.HSet("a", another, "1")
			m.Expire("a", 3*time.Second)
		})
		got := locking(t, s.c, "a")
		time.Sleep(40 * time.Millisecond)
		steps := s.steps()
		for _, step := range steps {
			if strings.Contains(step, "by its own client") { // the votes of the try before
				t.Errorf("a vote is told as %q", step)
			}
		}
		s.tell("Lock of a name of which one master is free", steps[:min(9, len(steps))])
		unlock(t, got.returned(t))
	}},
	{"a name that moves is a call in each of its sets, and the smaller token is raised", func(t *testing.T, s *tale) {
		f := startFleets(t, "a", "c")
		next := new(recorder)
		sets := newSets(t, redlock.SetsConfig{Now: []string{"a"}, Next: []string{"c"}, Sets: map[string]redlock.Config{
			"a": {Pools: f["a"].Pools(), RestartGuard: redlock.GuardOff, Trace: s.trace()},
			"c": {Pools: f["c"].Pools(), RestartGuard: redlock.GuardOff, Trace: next.trace()},
		}})
		use(t, sets, "warm")
		for _, fleet := range f {
			inTurn(fleet)
		}
		s.take()
		next.take()
		for i, m := range f["c"].Masters() {
			m.Set("redlock_fence:{n}", "5000000000000000")
			m.Delay(10*time.Millisecond + time.Millisecond<<i) // so that the old set's answers come first
		}
		hold := lock(t, t.Context(), sets, "n")
		time.Sleep(time.Second)
		unlock(t, hold)
		time.Sleep(time.Second)
		s.tell("the old set", s.steps())
		s.tell("the new set", next.steps())
	}},
	// It is there for expectToldAll.
	{"what else there is to tell", func(t *testing.T, s *tale) {
		c := open(t, s.fleet, redlock.Config{Trace: s.trace(), RestartGuard: lease})
		hold := lock(t, t.Context(), c, "a")
		unlock(t, got(t, "Enter", hold.Enter, t.Context()))

		// A client that conflicts with it, until that is gone.
		strange := open(t, s.fleet, redlock.Config{Trace: s.trace(), Pools: append(s.fleet.Pools()[:1], redlocktest.Start(t, 2).Pools()...)})
		expect(t, "TryLock of the client that came second", second(strange.TryLock(t.Context(), "a")), redlock.ErrOverlap)
		time.Sleep(time.Minute)
		expect(t, "Close", strange.Close())
		time.Sleep(5 * time.Minute)

		// A master that restarts, and one whose clock jumps.
		s.fleet.Master(0).Restart()
		time.Sleep(2 * time.Minute)
		s.fleet.Master(1).Skew(time.Second)
		time.Sleep(2 * time.Minute)
		unlock(t, hold)

		// Both permits, of which the second is handed off.
		one, two := acquire(t, c, "s", 2), acquire(t, c, "s", 2)
		unlock(t, one)
		unlock(t, two)
		one, two = acquire(t, s.other, "s", 2), acquire(t, s.other, "s", 2)
		if one.Slot() == 1 {
			one, two = two, one
		}
		next := locking(t, c, "s", redlock.Permits(2))
		time.Sleep(time.Second)
		unlock(t, two)
		unlock(t, next.returned(t))
		unlock(t, one)

		keeper := open(t, s.fleet, redlock.Config{Trace: s.trace(), Keep: time.Second})
		time.Sleep(time.Second)
		unlock(t, lock(t, t.Context(), keeper, "kept"))
		time.Sleep(2 * time.Second)

		// A hold that is lost, and cannot be released.
		hold = lock(t, t.Context(), c, "b")
		each(s.fleet, 0, 3, refuse("ERR out of order"))
		<-hold.Context().Done()
		time.Sleep(time.Second)
	}},
}

// TestTraces: testdata/traces.txt has what traces tell, step by step. Each event and field is told at least once.
func TestTraces(t *testing.T) {
	g := newGolden(t, "testdata/traces.txt")
	said, told := make(map[string]bool), 0
	for _, tt := range tales {
		g.section(t, tt.name, func(t *testing.T) (says string) {
			synctest.Test(t, func(t *testing.T) {
				s := &tale{recorder: &recorder{said: said}, fleet: redlocktest.Start(t, 3)}
				s.c, s.other = open(t, s.fleet, redlock.Config{Trace: s.trace()}), open(t, s.fleet, redlock.Config{})
				use(t, s.c, "warm")
				inTurn(s.fleet)
				s.recorder.take()
				tt.play(t, s)
				says = s.text.String()
				told++
			})
			return says
		})
	}
	g.close(t)
	if told == len(tales) {
		expectToldAll(t, said)
	}
}

// A re-entry that comes while masters are yet to answer to an Unlock, or to another re-entry, goes with the round that
// follows, and is told of neither. The other one is told of its round, with all votes.
func TestAReEntryTellsItsOwnRound(t *testing.T) {
	for answers, after := range []time.Duration{time.Millisecond, 3 * time.Millisecond} {
		for what, between := range map[string]func(*testing.T, *redlock.Hold){"an Unlock": unlock, "a re-entry": enterOnce} {
			t.Run(fmt.Sprintf("%s of which %d answers are in", what, answers), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					fleet, r := redlocktest.Start(t, 3), new(recorder)
					c := open(t, fleet, redlock.Config{Trace: r.trace()})
					hold := lock(t, t.Context(), c, "a")
					inner, err := hold.Enter(t.Context())
					check.OK(t, err)
					inTurn(fleet)
					go between(t, inner)
					time.Sleep(after)
					enterOnce(t, hold)
					time.Sleep(time.Second)
					unlock(t, hold)
					expect(t, "Close", c.Close())
					rounds := 0
					for _, e := range r.events {
						if asked, _ := e.(redlocktrace.Asked); asked.Ask == redlocktrace.AskEnter {
							rounds++
						}
					}
					check.Equal(t, rounds, map[string]int{"an Unlock": 1, "a re-entry": 2}[what], "rounds of re-entries that are told")
					r.expectSound(t)
				})
			})
		}
	}
}

func enterOnce(t *testing.T, hold *redlock.Hold) {
	inner, err := hold.Enter(t.Context())
	check.OK(t, err)
	unlock(t, inner)
}
