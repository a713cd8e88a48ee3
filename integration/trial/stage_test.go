package trial

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
)

// rehearse performs acts that how does, in a bubble and on masters that do not exist, and returns what was recorded: "fault
// pause 5s" and the like.
func rehearse(t *testing.T, how func(string) kind, acts ...Act) (told []string, err error) {
	t.Helper()
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		s := &stage{rec: history.NewRecorder(&out, "trial", func() time.Duration { return time.Since(began) }), how: how}
		err = s.perform(t.Context(), Plan{Acts: acts})
	})
	events, wrong := history.Read(&out)
	check.OK(t, wrong)
	for _, e := range events {
		line := fmt.Sprint(e.What, " ", e.Fault, " ", e.At)
		if e.Forgets {
			line += " forgets"
		}
		if e.Forgets && e.What == history.Mended {
			line += fmt.Sprint(" from ", e.From)
		}
		if e.What == history.Mended && e.Text != "" {
			line += " " + e.Text
		}
		told = append(told, strings.ReplaceAll(line, "  ", " "))
	}
	return told, err
}

// doing returns a deed that is to do one thing.
func doing(do func() error) deed {
	return func(*stage, Act) []func() error { return []func() error{do} }
}

func nothing(name string) kind { return kind{part: kindOf(name).part} }

// Acts go on beside each other, and a calm begins when all are over.
func TestPerform(t *testing.T) {
	told, err := rehearse(t, nothing,
		Act{At: second, Lasts: 3 * second, Kind: Pause, On: []string{"m1"}},
		Act{At: 2 * second, Lasts: second, Kind: Cut, On: []string{"m1"}},
		Act{At: 3 * second / 2, Lasts: second, Kind: Busy, On: []string{"m2"}},
		Act{At: 4 * second, Lasts: 9 * second, Kind: calm},
		Act{At: 13 * second, Kind: FlushAll, On: []string{"m2"}},
	)
	want := []string{
		"fault pause 1s", "fault cut 2s", "fault busy 2s", "mended cut 3s", "mended busy 3s", "mended pause 4s",
		"fault flushall 13s", "mended flushall 13s", "over 13s",
	}
	slices.Sort(told[1:3]) // two begin at once
	slices.Sort(told[3:5])
	slices.Sort(want[1:3])
	slices.Sort(want[3:5])
	check.That(t, err == nil && slices.Equal(told, want), "perform = %v, and it recorded %q, want %q", err, told, want)
}

// An act that is late makes those later that come after it, and only those.
func TestPerformLate(t *testing.T) {
	slow := func(name string) kind {
		k := nothing(name)
		if name == KillEmpty {
			k.mend = doing(func() error { time.Sleep(10 * second); return nil })
		}
		return k
	}
	told, err := rehearse(t, slow,
		Act{At: second, Lasts: second, Kind: KillEmpty, On: []string{"m1"}},
		Act{At: 2 * second, Lasts: second, Kind: Cut, On: []string{"m2"}},
		Act{At: 4 * second, Lasts: second, Kind: Pause, On: []string{"m1"}},
	)
	want := []string{
		"fault kill-empty 1s", "fault cut 2s", "mended cut 3s", "mended kill-empty 12s", "fault pause 13.5s", "mended pause 14.5s", "over 14.5s",
	}
	check.That(t, err == nil && slices.Equal(told, want), "perform = %v, and it recorded %q, want %q", err, told, want)
}

// What cannot be done is recorded, and mended nevertheless. What cannot be mended makes the trial worthless.
func TestWhatCannotBeDone(t *testing.T) {
	slow := errors.New("Docker is slow")
	mended := 0
	how := func(name string) kind {
		return kind{
			part:  client, // of which nothing is tried again
			begin: doing(func() error { return slow }),
			mend: doing(func() error {
				mended++
				if name == Busy {
					return slow
				}
				return nil
			}),
		}
	}
	told, err := rehearse(t, how, Act{Kind: Pause, On: []string{"m1"}})
	want := []string{"fault pause 1ns", "mended pause 1ns could not be done: Docker is slow", "over 1ns"}
	for i := range told {
		told[i] = strings.Replace(told[i], " 0s", " 1ns", 1)
	}
	check.That(t, err == nil && mended == 1 && slices.Equal(told, want), "perform = %v, mended %d times, and it recorded %q, want %q", err, mended, told, want)
	if _, err := rehearse(t, how, Act{Kind: Busy, On: []string{"m1"}}); !errors.Is(err, slow) {
		t.Errorf("perform of what cannot be mended = %v, want %v", err, slow)
	}
}

// A master whose clock is behind forgets only while it is set right again.
func TestWhenAMasterForgets(t *testing.T) {
	how := func(name string) kind {
		k := nothing(name)
		k.forgets, k.mend = kindOf(name).forgets, doing(func() error { time.Sleep(second); return nil })
		return k
	}
	told, err := rehearse(t, how,
		Act{At: second, Lasts: second, Kind: ClockBack, On: []string{"m1"}},
		Act{At: 4 * second, Lasts: second, Kind: ClockFast, On: []string{"m1"}},
		Act{At: 7 * second, Lasts: second, Kind: ClockSlow, On: []string{"m1"}},
	)
	want := []string{
		"fault clock-back 1s", "mended clock-back 3s forgets from 2s", "fault clock-fast 4.5s forgets", "mended clock-fast 6.5s",
		"fault clock-slow 8s", "mended clock-slow 10s forgets from 9s", "over 10s",
	}
	check.That(t, err == nil && slices.Equal(told, want), "perform = %v, and it recorded %q, want %q", err, told, want)
}

// An act that is done again and again is done until it is over.
func TestAgainAndAgain(t *testing.T) {
	n := 0
	how := func(string) kind {
		again := func() error { n++; return errors.New("not now") }
		return kind{part: client, begin: doing(func() error { n++; return nil }), again: doing(again)}
	}
	_, err := rehearse(t, how, Act{Lasts: second, Every: 100 * time.Millisecond, Kind: ScriptFlush, On: []string{"m1"}})
	check.That(t, err == nil && n == 10, "perform = %v, done %d times in a second, want 10", err, n)
}

// seeds is of how many plans each property is tested.
const seeds = 100

// eachPlan tests a property of many plans, long and short, for five masters and for three.
func eachPlan(t *testing.T, check func(t *testing.T, cfg Config, plan Plan)) {
	t.Helper()
	for _, masters := range []int{3, 5} {
		for _, lasts := range []time.Duration{10 * time.Minute, time.Minute} {
			t.Run(fmt.Sprintf("masters=%d lasts=%v", masters, lasts), func(t *testing.T) {
				for seed := range uint64(seeds) {
					cfg := Config{Seed: seed, Lasts: lasts, Masters: masters, Clients: 5}
					if check(t, cfg, NewPlan(cfg)); t.Failed() {
						t.Fatalf("with seed %d", seed)
					}
				}
			})
		}
	}
}

// Ten minutes have more than two hundred faults, each kind several times. A minute has most kinds.
func TestManyFaultsOfManyKinds(t *testing.T) {
	eachPlan(t, func(t *testing.T, cfg Config, plan Plan) {
		n, total := map[string]int{}, 0
		for _, a := range plan.Acts {
			if a.Kind != calm {
				n[a.Kind]++
				total++
			}
		}
		switch {
		case cfg.Lasts == time.Minute && (total < 20 || len(n) < 15):
			t.Errorf("%d faults of %d kinds in a minute, want 20 of 15", total, len(n))
		case cfg.Lasts > time.Minute && (total < 240 || len(n) < len(kinds)):
			t.Errorf("%d faults of %d kinds, want 240 of %d", total, len(n), len(kinds))
		case cfg.Lasts > time.Minute:
			for kind, n := range n {
				check.That(t, n >= 2, "%s happens %d times in ten minutes", kind, n)
			}
		}
	})
}

// Each fault ends before the plan does, and before calm.
func TestEveryFaultEnds(t *testing.T) {
	eachPlan(t, func(t *testing.T, cfg Config, plan Plan) {
		var end time.Duration
		for _, a := range plan.Acts {
			check.That(t, a.Kind != calm || a.At >= end, "calm at %v, and faults until %v", a.At, end)
			end = max(end, a.At+a.Lasts)
			check.That(t, end <= cfg.Lasts, "%v at %v is not over at %v", a, a.At, cfg.Lasts)
			check.That(t, a.At >= warmUp, "%v begins at %v", a, a.At)
		}
	})
}

// No part of anybody has two faults at a time, so that one is not mended by the end of the other.
func TestOneFaultAtATimeOnAPart(t *testing.T) {
	eachPlan(t, func(t *testing.T, cfg Config, plan Plan) {
		free := map[string]time.Duration{}
		for _, a := range plan.Acts {
			if a.Kind == calm {
				continue
			}
			k, names := kindOf(a.Kind), a.On
			check.That(t, len(names) != 0, "%v is on nobody", a)
			for _, name := range names {
				if name[0] == 'c' && k.part != client {
					continue // cut off, beside what else may happen to the client
				}
				check.That(t, free[name+string(k.part)] <= a.At, "%v at %v, and %s has another fault until %v", a, a.At, name, free[name+string(k.part)])
				free[name+string(k.part)] = a.At + a.Lasts
			}
		}
	})
}

// Masters that forget without a restart are never a majority within a lease and a second.
func TestNoMajorityForgets(t *testing.T) {
	eachPlan(t, func(t *testing.T, cfg Config, plan Plan) {
		for i, a := range plan.Acts {
			if a.Kind == calm || kindOf(a.Kind).forgets == 0 {
				continue
			}
			forgot := map[string]bool{}
			for _, b := range plan.Acts[:i+1] {
				if b.Kind != calm && kindOf(b.Kind).forgets > 0 && b.At+b.Lasts+lease+time.Second > a.At {
					for _, name := range b.On {
						forgot[name] = true
					}
				}
			}
			check.That(t, len(forgot) <= cfg.Masters/2, "at %v, %v, %v of %d have forgotten", a.At, a, slices.Sorted(maps.Keys(forgot)), cfg.Masters)
		}
	})
}
