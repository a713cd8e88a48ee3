package redlocktest

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// A Master is one Redis master in memory. It starts alive, empty and a day old.
//
// Its methods come in three kinds: some act on its process ([Master.Kill], [Master.Freeze], …), some
// on its network ([Master.Cut], [Master.Delay]), and some read or change its data without a
// connection ([Master.Keys], [Master.Set], …). Once Kill or Freeze has returned, no more commands are
// carried out; after Cut, only those that had already arrived. Thaw and Mend take effect soon after
// they return: in a bubble, by the end of synctest.Wait.
type Master struct {
	name string
	wg   *sync.WaitGroup // of the fleet: every goroutine of this master

	// mu is held while a command runs, since Redis has one thread. No goroutine waits while it holds
	// mu, except on thawed.
	mu     sync.Mutex
	thawed sync.Cond // a frozen process was thawed, or a session has ended
	closed bool
	calls  map[string]int64 // how often each command was carried out or refused, but for what scripts call

	proc  *process // nil while dead
	store *miniredis.Miniredis
	redis *server.Server // of store

	wrote bool // the command that runs has changed something

	network  network      // of all clients; it outlives the process
	delay    atomic.Int64 // of each direction, a time.Duration
	settings settings
	port     tcpPort
}

// settings outlive a process as well, like a config file.
type settings struct {
	role     string
	refusal  string
	password string
	aof      bool
	full     bool
	skew     time.Duration
	skewed   bool
}

func newMaster(name string, wg *sync.WaitGroup) *Master {
	m := &Master{name: name, wg: wg, calls: map[string]int64{}}
	m.thawed.L = &m.mu
	m.settings.role = "master"
	m.formatLocked()
	m.proc = newProcess(time.Now().Add(-24 * time.Hour))
	return m
}

// Name is "m1" for the first master of a fleet, "m2" for the second.
func (m *Master) Name() string { return m.name }

// formatLocked replaces the store with an empty one. The caller holds m.mu, or m is not shared yet.
func (m *Master) formatLocked() {
	if m.store != nil {
		m.store.Close()
	}
	m.store = miniredis.NewMiniRedis()
	m.store.ClockTTL(true)
	// The first Dial makes a server without a listener. Its pipe is not needed: sessions
	// hand their commands to the server themselves.
	pipe, err := m.store.Dial()
	if err != nil {
		panic("redlocktest: " + err.Error())
	}
	pipe.Close()
	m.redis = m.store.Server()
	m.redis.SetPreHook(m.refuseWritesLocked)
}

// Kill ends the process, as kill -9 does: connections drop, dials are refused, and commands that it
// has not carried out yet never will be. Its data is kept for [Master.RestartWithData].
func (m *Master) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.killLocked()
}

// killLocked is Kill. The caller holds m.mu.
func (m *Master) killLocked() {
	if m.proc == nil {
		return
	}
	for _, s := range m.proc.sessions {
		s.endLocked()
	}
	m.proc = nil
	m.port.close()
	m.thawed.Broadcast()
}

// Restart kills the process if it is alive, and starts a new one that has forgotten everything: no
// data, no scripts, another run_id, uptime 0.
func (m *Master) Restart() {
	m.restart(true)
}

// RestartWithData is [Master.Restart] for a master with appendfsync always: it comes back with its
// data, but without scripts. Keys keep expiring while it is down.
func (m *Master) RestartWithData() {
	m.restart(false)
}

func (m *Master) restart(empty bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.killLocked()
	if empty {
		m.formatLocked()
	} else {
		m.discardScriptsLocked()
	}
	m.proc = newProcess(m.nowLocked())
	m.port.reopen(m.accept)
}

// Alive reports whether the process exists, frozen or not.
func (m *Master) Alive() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.proc != nil
}

// Freeze stops the process without ending it, as SIGSTOP and docker pause do: the kernel goes on
// accepting connections and bytes, but nothing is carried out or answered.
func (m *Master) Freeze() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc != nil {
		m.proc.frozen = true
	}
}

// Thaw lets a frozen process go on. It carries out everything it was sent, even on connections that
// the client has closed meanwhile: in order on each connection, but in no particular order among
// connections.
func (m *Master) Thaw() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc != nil {
		m.proc.frozen = false
		m.thawed.Broadcast()
	}
}

// close ends the process and every connection, even those that a cut would keep from noticing.
func (m *Master) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.closed = true
	m.killLocked()
	m.port.free()
	m.network.cutLocked(false, false)
	for _, l := range m.network.links {
		l.Master.Close()
		l.Flush()
	}
	m.store.Close()
}
