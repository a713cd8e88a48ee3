package redlocktest

import (
	"maps"
	"strings"
	"time"
)

// between runs f between two commands, with the clock of the store set. A dead master's store is what
// [Master.RestartWithData] would bring back.
func (m *Master) between(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tickLocked()
	f()
}

// Keys returns the names of all keys of database 0, sorted.
func (m *Master) Keys() (keys []string) {
	m.between(func() { keys = m.store.Keys() })
	return keys
}

// Type returns "string", "hash", "zset", …, or "" if there is no such key.
func (m *Master) Type(key string) (kind string) {
	m.between(func() { kind = m.store.Type(key) })
	return kind
}

// TTL returns how long a key has left to live: zero if it does not expire or does not exist.
func (m *Master) TTL(key string) (left time.Duration) {
	m.between(func() { left = m.store.TTL(key) })
	return left
}

// Get returns the value of a string, or "".
func (m *Master) Get(key string) (value string) {
	m.between(func() { value, _ = m.store.Get(key) })
	return value
}

// HGet returns the value of a field of a hash, or "".
func (m *Master) HGet(key, field string) (value string) {
	m.between(func() { value = m.store.HGet(key, field) })
	return value
}

// Hash returns a copy of a hash, or nil.
func (m *Master) Hash(key string) (hash map[string]string) {
	m.between(func() {
		fields, err := m.store.HKeys(key)
		if err != nil || len(fields) == 0 {
			return
		}
		hash = make(map[string]string, len(fields))
		for _, field := range fields {
			hash[field] = m.store.HGet(key, field)
		}
	})
	return hash
}

// Holder returns the owner in a lock's hash, or "" if name is free on this master.
func (m *Master) Holder(name string) string {
	for owner := range m.Hash(name) {
		return owner
	}
	return ""
}

// ZSet returns a copy of a sorted set, or nil.
func (m *Master) ZSet(key string) (scores map[string]float64) {
	m.between(func() {
		if set, err := m.store.SortedSet(key); err == nil {
			scores = maps.Clone(set)
		}
	})
	return scores
}

// Set makes key a string that does not expire. It replaces whatever was there.
func (m *Master) Set(key, value string) {
	m.between(func() {
		m.store.Del(key)
		m.store.Set(key, value)
	})
}

// HSet sets a field of a hash. It replaces a key of another type.
func (m *Master) HSet(key, field, value string) {
	m.between(func() { m.store.HSet(key, field, value) })
}

// Expire makes a key expire after d.
func (m *Master) Expire(key string, d time.Duration) {
	m.between(func() { m.store.SetTTL(key, d) })
}

// Del removes a key and reports whether it existed.
func (m *Master) Del(key string) (found bool) {
	m.between(func() { found = m.store.Del(key) })
	return found
}

// FlushAll removes all data, as an operator's FLUSHALL does. Scripts stay.
func (m *Master) FlushAll() {
	m.between(func() { m.store.FlushAll() })
}

// FlushScripts empties the script cache: the next EVALSHA is answered with NOSCRIPT.
func (m *Master) FlushScripts() {
	m.between(m.discardScriptsLocked)
}

// Connections returns how many connections the process has accepted and not yet closed.
func (m *Master) Connections() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.proc == nil {
		return 0
	}
	return len(m.proc.sessions)
}

// Commands returns how many commands the master has carried out or refused since the fleet was
// started, handshakes included. A script call is one command, whatever the script calls.
func (m *Master) Commands() (sum int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, n := range m.calls {
		sum += n
	}
	return sum
}

// Calls is [Master.Commands] for one command, as in Calls("EVALSHA").
func (m *Master) Calls(cmd string) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.calls[strings.ToUpper(cmd)]
}
