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

// TestWhatARestartExplains: a client that takes locks believes terms that conflict with its own once they
// were published 25 s after it saw them first, and after its masters changed last. It stops then if they came
// first.
func TestWhatARestartExplains(t *testing.T) {
	const hour = time.Hour
	theirs := terms.Terms{Guard: 30_000, Masters: []terms.Master{{Run: "x"}, {Run: "y"}, {Run: "z"}}}
	type look struct{ at, last time.Duration } // since this client's masters changed last
	for _, tt := range []struct {
		name   string
		first  time.Duration // when they were published first; the client's own were an hour ago
		looks  []look
		want   bool
		second bool
	}{
		{"nobody uses them any more", 0, []look{{0, -time.Second}, {18 * time.Second, -time.Second}, {36 * time.Second, -time.Second}}, false, false},
		{"somebody finds out 18 s later", -2 * hour, []look{{0, -time.Second}, {18 * time.Second, 18 * time.Second}, {36 * time.Second, 18 * time.Second}}, false, false},
		{"they are used on", 0, []look{{0, -time.Second}, {18 * time.Second, 15 * time.Second}, {36 * time.Second, 33 * time.Second}}, true, false},
		{"they are used on, and came first", -2 * hour, []look{{0, -time.Second}, {18 * time.Second, 15 * time.Second}, {36 * time.Second, 33 * time.Second}}, true, true},
		{"this client was suspended", -2 * hour, []look{{hour, hour}}, false, false},
		{"another one was, and finds out", -2 * hour, []look{{hour, hour - time.Minute}, {hour + 12*time.Second, hour}, {hour + 30*time.Second, hour}}, false, false},
		{"they are new", 0, []look{{hour, hour}, {hour + 12*time.Second, hour + 12*time.Second}, {hour + 24*time.Second, hour + 24*time.Second}}, false, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d, log := directoryOf(t, redlocktest.Start(t, 3))
				d.stands, d.since = user, clock.Now().Add(-hour)
				d.mu.Lock()
				d.ownTermsLocked()
				d.changed = clock.Now()
				d.mu.Unlock()
				shown := time.Now()
				ms := func(d time.Duration) int64 { return shown.Add(d).UnixMilli() }
				for _, l := range tt.looks {
					use := script.Use{Terms: theirs, First: ms(tt.first), Last: ms(l.last)}
					use.Text = use.Terms.Text()
					time.Sleep(time.Until(shown.Add(l.at)))
					d.mu.Lock()
					d.compareLocked(0, []script.Use{use}, clock.Now(), ms(l.at))
					d.mu.Unlock()
				}
				if got := strings.Count(log.String(), "in a way that conflicts"); got > 1 || (got == 1) != tt.want {
					t.Errorf("the log has it %d times, want %v", got, tt.want)
				}
				if err := d.refusal(); (err != nil) != tt.second {
					t.Errorf("refusal = %v, want %v", err, tt.second)
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
