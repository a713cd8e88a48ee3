package clients

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestWhatARestartExplains: an established client reports terms that conflict with its own once they were
// published 25 s after it saw them first, and after its masters changed last, and that they are gone. It goes on.
func TestWhatARestartExplains(t *testing.T) {
	theirs := &terms.Terms{Guard: 30_000}
	type look struct{ at, last time.Duration } // since this client's masters changed last
	const s, none = time.Second, -1
	for _, tt := range []struct {
		name  string
		looks []look
		want  int // messages
	}{
		{"nobody uses them any more", []look{{0, -s}, {18 * s, -s}, {36 * s, -s}}, 0},
		{"somebody finds out 18 s later", []look{{0, -s}, {18 * s, 18 * s}, {36 * s, 18 * s}}, 0},
		{"they are used on", []look{{0, -s}, {18 * s, 15 * s}, {36 * s, 33 * s}, {54 * s, 51 * s}}, 1},
		{"and then no more", []look{{0, -s}, {18 * s, 15 * s}, {36 * s, 33 * s}, {54 * s, none}, {72 * s, none}}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, log := directoryOf(t, redlocktest.Start(t, 3))
				d.id.Name = "test"
				began := time.Now()
				d.mu.Lock()
				defer d.mu.Unlock()
				own := d.ownTermsLocked(clock.Now())
				theirs.Masters = []terms.Master{own.Masters[0], {Run: "x"}, {Run: "y"}}
				for _, l := range tt.looks {
					time.Sleep(time.Until(began.Add(l.at)))
					now := clock.Now()
					own := d.ownTermsLocked(now)
					round := &terms.Round{Did: terms.Apply, Sent: now, Now: now, Own: own, Text: d.text, Views: make([]terms.View, 3)}
					for i := range round.Views {
						round.Views[i].Told = true
					}
					d.standing.Heard(round)
					views := make([]terms.View, 3)
					views[0] = terms.View{Told: true, Master: own.Masters[0], At: now}
					if l.last != none {
						views[0].Uses = []script.Use{{Terms: theirs, Text: theirs.Text(), State: script.Established, By: "other", Age: (l.at - l.last).Milliseconds()}}
					}
					d.sawLocked(views, own, now)
				}
				if got := strings.Count(log.String(), "conflict"); got != tt.want {
					t.Errorf("the log has %d messages, want %d:\n%s", got, tt.want, log)
				}
				if !d.standing.Established(clock.Now()) {
					t.Error("the client is established no more")
				}
			})
		})
	}
}

// What a cache keeps is bounded, however many clients it meets.
func TestTheCacheIsBounded(t *testing.T) {
	var c cache
	for i := range 3 * maxKnown {
		c.mayAsk(fmt.Sprint(i))
	}
	if n := len(c.asked); n == 0 || n > maxKnown {
		t.Errorf("%d of %d are kept, want %d at most", n, 3*maxKnown, maxKnown)
	}
	if c.mayAsk(fmt.Sprint(3*maxKnown - 1)) {
		t.Error("what was asked for last is asked for again at once")
	}
}

// directoryOf makes the directory of a client of masters in memory, and its log.
func directoryOf(t *testing.T, fleet *redlocktest.Fleet) (*Directory, *bytes.Buffer) {
	t.Helper()
	var log bytes.Buffer
	cfg := node.Config{Timeout: 100 * time.Millisecond, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	var nodes []*node.Node
	for i, pool := range fleet.Pools() {
		cfg.Name, cfg.Pool = fleet.Master(i).Name(), pool
		nodes = append(nodes, node.New(cfg))
	}
	masters := poll.New(nodes, cfg.Logger)
	t.Cleanup(masters.Disconnect)
	synctest.Wait() // connected
	return New(masters, nil, nil), &log
}
