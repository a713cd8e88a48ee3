package redlocktest

import (
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// A Master is one Redis master in memory. It starts alive, empty and a day old.
//
// Its methods come in three kinds: what happens to its process ([Master.Kill],
// [Master.Freeze], …), what happens to its network ([Master.Cut], [Master.Delay]), and
// what a test may look at or doctor without a connection ([Master.Keys], [Master.Set], …).
// After Kill or Freeze has returned, no command is carried out any more; after Cut, none
// that had not arrived. What Thaw and Mend let happen, happens soon after: in a bubble, by
// the end of synctest.Wait.
type Master struct {
	name  string
	wg    *sync.WaitGroup // of the fleet: every goroutine of this master
	tally tally

	// mu is held while a command runs, as Redis has one thread. Nothing waits while
	// holding it, except on thawed.
	mu     sync.Mutex
	thawed sync.Cond // a frozen process was thawed, or a session has ended
	closed bool
	links  map[*link]struct{}

	proc  *process // nil while dead
	store *miniredis.Miniredis
	redis *server.Server // of store

	network  network
	settings settings
	port     tcpPort
}

// network is what lies between clients and a master. It outlives the master's process.
type network struct {
	delay time.Duration
	cut   chan struct{} // closed by Mend; nil while whole
}

// settings outlive a process as well, as a config file does.
type settings struct {
	role     string
	refusal  string
	password string
	aof      bool
	skew     time.Duration
	skewed   bool
}

func newMaster(name string, wg *sync.WaitGroup) *Master {
	m := &Master{name: name, wg: wg, links: map[*link]struct{}{}}
	m.thawed.L = &m.mu
	m.settings.role = "master"
	m.format()
	m.proc = newProcess(time.Now().Add(-24 * time.Hour))
	return m
}

// Name is "m1" for the first master of a fleet, "m2" for the second.
func (m *Master) Name() string { return m.name }

// format replaces the store by an empty one. m.mu is held, or m is not shared yet.
func (m *Master) format() {
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
	m.redis.SetPreHook(m.refuseWrites)
}

// Kill ends the process, as kill -9 does: connections drop, dials are refused, and no
// command that it had not carried out ever is. Its data is kept for
// [Master.RestartWithData].
func (m *Master) Kill() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kill()
}

// kill is Kill. m.mu is held.
func (m *Master) kill() {
	if m.proc == nil {
		return
	}
	for _, s := range m.proc.sessions {
		s.end()
	}
	m.proc = nil
	m.port.close()
	m.thawed.Broadcast()
}

// Restart kills the process if it is alive, and starts one that has forgotten everything:
// no data, no scripts, another run_id, uptime 0.
func (m *Master) Restart() {
	m.restart(true)
}

// RestartWithData is [Master.Restart] of a master with appendfsync always: it comes back
// with its data, but without scripts. Keys go on expiring while it is down.
func (m *Master) RestartWithData() {
	m.restart(false)
}

func (m *Master) restart(empty bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.kill()
	if empty {
		m.format()
	} else {
		m.discardScripts()
	}
	m.proc = newProcess(m.now())
	m.port.reopen(m.accept)
}

// Alive reports whether the process runs. A frozen one does.
func (m *Master) Alive() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.proc != nil
}

// Freeze stops the process without ending it, as SIGSTOP or docker pause do: the kernel
// goes on accepting connections and bytes, but nothing is carried out or answered.
func (m *Master) Freeze() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc != nil {
		m.proc.frozen = true
	}
}

// Thaw lets a frozen process go on. It carries out all it has been sent, in the order of
// each connection and in no order among connections, also for clients that have closed
// theirs meanwhile.
func (m *Master) Thaw() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc != nil {
		m.proc.frozen = false
		m.thawed.Broadcast()
	}
}

// close ends the process and every connection, also those that a cut keeps from noticing.
func (m *Master) close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return
	}
	m.closed = true
	m.kill()
	m.mend()
	for l := range m.links {
		l.closeMaster()
		l.flush()
	}
	m.store.Close()
}
