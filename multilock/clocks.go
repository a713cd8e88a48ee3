package multilock

import (
	"sync"
	"sync/atomic"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/attempt"
)

// lag is by how much this machine's clock is known to be behind.
type lag struct {
	missed atomic.Int64 // in ns

	mu    sync.Mutex
	state attempt.Lag
}

// now returns the present instant, by which all is counted that a majority of the masters voted for.
func (m *Masters) now() clock.Instant { return clock.Now().Add(time.Duration(m.lag.missed.Load())) }

// left returns how much time is left until at, which was made by now.
func (m *Masters) left(at clock.Instant) time.Duration { return m.now().Left(at) }

// asleep returns for how long timers are known to have stood still so far.
func (m *Masters) asleep() time.Duration { return suspended() + time.Duration(m.lag.missed.Load()) }

// Gained implements [node.Observer].
func (m *Masters) Gained(i int, most time.Duration) {
	l := &m.lag
	l.mu.Lock()
	missed := l.state.Gained(&m.conf, i, most)
	l.missed.Add(int64(missed))
	l.mu.Unlock()
	if missed > 0 {
		m.All.Log.Warn("redlock: this machine's clock stood still, or those of a majority of the masters jumped: holds end earlier", "by", missed)
		poke(m.watchdog.wake)
	}
}

// Steady implements [node.Observer].
func (m *Masters) Steady(i int) {
	m.lag.mu.Lock()
	defer m.lag.mu.Unlock()
	m.lag.state.Steady(i)
}
