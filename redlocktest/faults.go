package redlocktest

import "time"

// Cut cuts the master off from all its clients: nothing arrives in either direction, and new dials
// hang until they are given up. What is in transit is kept until [Master.Mend], as TCP would resend
// it. (With [Fleet.URLs], dials succeed, since the kernel answers them; what follows hangs.)
func (m *Master) Cut() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.closed {
		m.network.cutLocked(true, true)
	}
}

// Mend ends [Master.Cut]. What was in transit arrives, even commands on connections that their client
// has closed meanwhile.
func (m *Master) Mend() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.network.cutLocked(false, false)
}

// Delay makes everything that is sent from now on take d to arrive, in either direction: a round trip
// takes 2d, and so does a dial. The default is zero.
func (m *Master) Delay(d time.Duration) { m.delay.Store(int64(d)) }

// KillClients ends all connections, subscribed ones as well. New ones are accepted.
func (m *Master) KillClients() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc == nil {
		return
	}
	for _, s := range m.proc.sessions {
		s.endLocked()
	}
}

// Fill makes the master refuse commands that need memory, with OOM, also those that scripts call, as one
// with maxmemory and noeviction does when it is full. Fill(false) ends that.
func (m *Master) Fill(full bool) {
	m.between(func() { m.settings.full = full })
}

// SetRole makes INFO show role, "master" or "slave". A slave refuses to change data, with READONLY.
// If it becomes a master again, it counts as promoted: INFO shows that it used to share another
// master's history.
func (m *Master) SetRole(role string) {
	m.between(func() {
		if m.proc != nil && m.settings.role != "master" && role == "master" {
			m.proc.replID2, m.proc.replID = m.proc.replID, randomID()
		}
		m.settings.role = role
	})
}

// SetUptime makes the process d old. The next process starts at zero.
func (m *Master) SetUptime(d time.Duration) {
	m.between(func() {
		if m.proc != nil {
			m.proc.started = m.nowLocked().Add(-d)
		}
	})
}

// SetAOF makes INFO and CONFIG GET show a master with appendfsync always. It does not decide whether
// data survives a restart: [Master.RestartWithData] keeps it, [Master.Restart] does not.
func (m *Master) SetAOF(on bool) {
	m.between(func() { m.settings.aof = on })
}

// Refuse makes the master answer msg, such as "MISCONF Errors writing to the AOF file", to every
// command except those of a handshake: AUTH, HELLO, SELECT, CLIENT, INFO, CONFIG, TIME, QUIT and
// subscriptions; and SCRIPT, if msg is of writes (OOM, MISCONF, NOREPLICAS, READONLY). If msg begins with LOADING,
// INFO shows loading:1. An empty msg ends the refusal.
func (m *Master) Refuse(msg string) {
	m.between(func() { m.settings.refusal = msg })
}

// Password requires a password on new connections, as requirepass does. An empty pw ends that. Pass
// [redis.DialPassword] to [Fleet.Pools].
func (m *Master) Password(pw string) {
	m.between(func() { m.settings.password = pw })
}

// Skew sets the master's clock d ahead of ours, or behind it if d is negative. A clock that jumps
// ahead ends leases early. (A clock that jumps back lengthens leases in Redis, but not here:
// miniredis stores the time left, not the end.)
func (m *Master) Skew(d time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.settings.skew = d
	m.settings.skewed = true
	m.tickLocked()
}
