package node

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlocktest"
)

// observed is what an Observer was told.
type observed struct {
	mu   sync.Mutex
	told []string
}

func (o *observed) tell(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.told = append(o.told, fmt.Sprintf(format, args...))
}

func (o *observed) Gained(i int, most time.Duration) { o.tell("%d gained %v", i, most) }
func (o *observed) Steady(i int)                     { o.tell("%d steady", i) }
func (o *observed) RanAhead(i int)                   { o.tell("%d ran ahead", i) }
func (o *observed) Restarted(i int)                  { o.tell("%d restarted", i) }

// want checks what was told since the last time.
func (o *observed) want(t *testing.T, when string, want ...string) {
	t.Helper()
	synctest.Wait()
	o.mu.Lock()
	defer o.mu.Unlock()
	if !slices.Equal(o.told, want) {
		t.Errorf("%s: told %q, want %q", when, o.told, want)
	}
	o.told = nil
}

// TestObserver: whatever casts doubt on earlier votes is told once, and before any later answer.
func TestObserver(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n, o := started(t, cfg), new(observed)
		n.Observe(o, 3)
		time.Sleep(time.Minute)
		reconnect(t, m, n)
		o.want(t, "while all is well, and after a reconnect")

		m.Skew(5 * time.Second)
		time.Sleep(heartbeat)
		o.want(t, "after a jump", "3 ran ahead", "3 gained 5s")
		m.Skew(12 * time.Second)
		time.Sleep(heartbeat)
		o.want(t, "after another one", "3 gained 7s")
		time.Sleep(minRecovery)
		o.want(t, "when that is over", "3 steady")

		m.Delay(100 * time.Millisecond)
		time.Sleep(2 * heartbeat)
		m.Skew(20 * time.Second)
		time.Sleep(2 * heartbeat)
		o.want(t, "after a jump of a far master, with what may have been on the way", "3 ran ahead", "3 gained 8.1s")
		m.Delay(0)

		m.RestartWithData()
		waitUntil(t, 5*heartbeat, n.isUp)
		o.want(t, "after a restart", "3 steady", "3 restarted")
		m.Kill()
		time.Sleep(5 * heartbeat)
		m.Restart()
		waitUntil(t, 5*heartbeat, n.isUp)
		o.want(t, "after an outage", "3 steady", "3 restarted")
	})
}
