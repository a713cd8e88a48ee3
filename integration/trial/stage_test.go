package trial

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/history"
)

// rehearse performs acts that how does, on masters that do not exist, and returns what was recorded: "fault
// pause 5s" and the like.
func rehearse(ctx context.Context, t *testing.T, how func(string) kind, acts ...Act) (told []string, err error) {
	t.Helper()
	began := time.Now()
	var out bytes.Buffer
	s := &stage{rec: history.NewRecorder(&out, "trial", func() time.Duration { return time.Since(began) }), how: how}
	err = s.perform(ctx, Plan{Acts: acts})
	events, wrong := history.Read(&out)
	if wrong != nil {
		t.Fatal(wrong)
	}
	for _, e := range events {
		line := fmt.Sprint(e.What, " ", e.Fault, " ", e.At)
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
	synctest.Test(t, func(t *testing.T) {
		told, err := rehearse(t.Context(), t, nothing,
			Act{At: second, Lasts: 3 * second, Kind: Pause, On: []string{"m1"}},
			Act{At: 2 * second, Lasts: second, Kind: Cut, On: []string{"m1"}},
			Act{At: 3 * second / 2, Lasts: second, Kind: Busy, On: []string{"m2"}},
			Act{At: 4 * second, Lasts: 9 * second, Kind: calm},
			Act{At: 13 * second, Kind: FlushAll, On: []string{"m2"}},
		)
		want := []string{
			"fault pause 1s", "fault cut 2s", "fault busy 2s", "mended cut 3s", "mended busy 3s", "mended pause 4s", "calm 4s",
			"fault flushall 13s", "mended flushall 13s", "over 13s",
		}
		slices.Sort(told[1:3]) // two begin at once
		slices.Sort(told[3:5])
		slices.Sort(want[1:3])
		slices.Sort(want[3:5])
		if err != nil || !slices.Equal(told, want) {
			t.Errorf("perform = %v, and it recorded %q, want %q", err, told, want)
		}
	})
}

// An act that is late makes those later that come after it, and only those.
func TestPerformLate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow := func(name string) kind {
			k := nothing(name)
			if name == KillEmpty {
				k.mend = doing(func() error { time.Sleep(10 * second); return nil })
			}
			return k
		}
		told, err := rehearse(t.Context(), t, slow,
			Act{At: second, Lasts: second, Kind: KillEmpty, On: []string{"m1"}},
			Act{At: 2 * second, Lasts: second, Kind: Cut, On: []string{"m2"}},
			Act{At: 4 * second, Lasts: second, Kind: Pause, On: []string{"m1"}},
		)
		want := []string{
			"fault kill-empty 1s", "fault cut 2s", "mended cut 3s", "mended kill-empty 12s", "fault pause 13.5s", "mended pause 14.5s", "over 14.5s",
		}
		if err != nil || !slices.Equal(told, want) {
			t.Errorf("perform = %v, and it recorded %q, want %q", err, told, want)
		}
	})
}

// What cannot be done is recorded, and mended nevertheless. What cannot be mended makes the trial worthless.
func TestWhatCannotBeDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
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
		told, err := rehearse(t.Context(), t, how, Act{Kind: Pause, On: []string{"m1"}})
		want := []string{"fault pause 1ns", "mended pause 1ns could not be done: Docker is slow", "over 1ns"}
		for i := range told {
			told[i] = strings.Replace(told[i], " 0s", " 1ns", 1)
		}
		if err != nil || mended != 1 || !slices.Equal(told, want) {
			t.Errorf("perform = %v, mended %d times, and it recorded %q, want %q", err, mended, told, want)
		}
		if _, err := rehearse(t.Context(), t, how, Act{Kind: Busy, On: []string{"m1"}}); !errors.Is(err, slow) {
			t.Errorf("perform of what cannot be mended = %v, want %v", err, slow)
		}
	})
}

// An act that is done again and again is done until it is over.
func TestAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		how := func(string) kind {
			again := func() error { n++; return errors.New("not now") }
			return kind{part: client, begin: doing(func() error { n++; return nil }), again: doing(again)}
		}
		_, err := rehearse(t.Context(), t, how, Act{Lasts: second, Every: 100 * time.Millisecond, Kind: ScriptFlush, On: []string{"m1"}})
		if err != nil || n != 10 {
			t.Errorf("perform = %v, done %d times in a second, want 10", err, n)
		}
	})
}

// again tries until it succeeds, or for as long as it may.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		err := again(t.Context(), 3*second, func() error {
			if n++; n < 5 {
				return errors.New("not yet")
			}
			return nil
		})
		if err != nil || n != 5 {
			t.Errorf("again = %v after %d tries, want success after 5", err, n)
		}
		start := time.Now()
		never := errors.New("never")
		if err := again(t.Context(), 3*second, func() error { return never }); err != never || time.Since(start) != 3*second {
			t.Errorf("again = %v after %v, want %v after 3s", err, time.Since(start), never)
		}
	})
}
