package redlocktest

import "time"

// Cut parts the master from all its clients: nothing arrives either way, and new dials
// hang until they are given up. What is under way is kept for [Master.Mend], as TCP sends
// it again. (Dials over TCP succeed, since a kernel answers them; what follows hangs.)
func (m *Master) Cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed || m.network.cut != nil {
		return
	}
	m.network.cut = make(chan struct{})
	for l := range m.links {
		l.setCut(true)
	}
}

// Mend joins what [Master.Cut] parted. What was under way arrives, also commands of
// connections that their client has closed meanwhile.
func (m *Master) Mend() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.mend()
}

// mend is Mend. m.mu is held.
func (m *Master) mend() {
	if m.network.cut == nil {
		return
	}
	close(m.network.cut)
	m.network.cut = nil
	for l := range m.links {
		l.setCut(false)
	}
}

// Delay makes everything that is sent from now on take d to arrive, either way: an answer
// takes 2d, and a dial another 2d. Zero is the default.
func (m *Master) Delay(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.network.delay = d
	for l := range m.links {
		l.setDelay(d)
	}
}

// SetRole makes INFO show role, "master" or "slave". A slave refuses to change data, with
// READONLY. One that becomes a master again was promoted: it shows that it shared the
// history of another master before.
func (m *Master) SetRole(role string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc != nil && m.settings.role != "master" && role == "master" {
		m.proc.promote()
	}
	m.settings.role = role
}

// SetUptime makes the process d old. The next process starts at zero again.
func (m *Master) SetUptime(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc != nil {
		m.proc.started = m.now().Add(-d)
	}
}

// SetAOF makes INFO and CONFIG GET show a master with appendfsync always. Whether it
// remembers is up to [Master.RestartWithData] and [Master.Restart].
func (m *Master) SetAOF(on bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settings.aof = on
}

// Refuse makes the master answer msg, such as "MISCONF Errors writing to the AOF file", to
// every command but those of a handshake: AUTH, HELLO, SELECT, CLIENT, INFO, CONFIG, TIME and
// subscriptions. With a msg that begins with LOADING, INFO shows loading:1. Empty ends it.
func (m *Master) Refuse(msg string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settings.refusal = msg
}

// Password makes new connections authenticate themselves, as requirepass does. Empty ends
// it. See [redis.DialPassword] for [Fleet.Pools].
func (m *Master) Password(pw string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settings.password = pw
}

// Skew sets the master's clock d ahead of ours, or behind it when d is negative. A clock
// that jumps ahead ends leases early. (One that jumps back does not lengthen them, as it
// would in Redis: miniredis keeps what is left, not the end.)
func (m *Master) Skew(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settings.skew = d
	m.settings.skewed = true
	m.tick()
}
