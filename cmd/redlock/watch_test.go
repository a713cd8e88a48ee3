package main

import (
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

func TestFrame(t *testing.T) {
	for _, c := range []struct {
		name, text  string
		rows, width int
		first       bool
		want        string
	}{
		{"first", "a\nb\n", 5, 10, true, "\x1b[2J\x1b[Ha\x1b[K\r\nb\x1b[K\x1b[J"},
		{"next", "a\n", 5, 10, false, "\x1b[Ha\x1b[K\x1b[J"},
		{"too wide", "0123456789\n", 5, 4, false, "\x1b[H012…\x1b[K\x1b[J"},
		{"too long", "a\nb\nc\nd\n", 3, 20, false, "\x1b[Ha\x1b[K\r\nb\x1b[K\r\n… 2 more lines\x1b[K\x1b[J"},
		{"just long enough", "a\nb\nc\n", 3, 20, false, "\x1b[Ha\x1b[K\r\nb\x1b[K\r\nc\x1b[K\x1b[J"},
	} {
		t.Run(c.name, func(t *testing.T) {
			check.Equal(t, frame(c.text, c.rows, c.width, c.first), c.want, "frame")
		})
	}
}

// While it waits, redlock says who holds the lock, and says it again when that or the place in the line
// changes, and not otherwise.
func TestSaysWhoHoldsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleet := redlocktest.Start(t, 3)
		// join has a client get in line. A minute later, others know it.
		join := func(name string) (*check.Output, <-chan grip) {
			c, err := redlock.New(redlock.Config{Name: name, Pools: fleet.Pools(), RestartGuard: redlock.GuardOff})
			check.OK(t, err)
			t.Cleanup(func() { _ = c.Close() })
			says, got := new(check.Output), make(chan grip, 1)
			go func() {
				f := lockFlags{Name: lockNames{"n"}, Lease: positive(defaultLease)}
				hold, err := f.acquire(c, origins{}, nil, slog.New(slog.DiscardHandler), slog.New(newPlainLog(says)))
				if err != nil {
					t.Error(err)
				}
				got <- hold
			}()
			time.Sleep(time.Minute)
			return says, got
		}
		_, holder := join("nightly-report")
		first, next := join("first")
		second, last := join("second")
		for _, held := range []<-chan grip{holder, next, last} {
			check.OK(t, (<-held).Unlock(t.Context()))
			time.Sleep(time.Minute)
		}
		changes := regexp.MustCompile(` on \S+ \(pid \d+\) for [\dms]+`)
		for says, want := range map[*check.Output]string{
			first:  "held by nightly-report; next in line\n",
			second: "held by nightly-report; 1 ahead in line\nheld by first; next in line\n",
		} {
			text := strings.ReplaceAll(changes.ReplaceAllString(says.String(), ""), `redlock: still waiting for "n": `, "")
			check.Equal(t, text, want, "what a waiter was told")
		}
	})
}
