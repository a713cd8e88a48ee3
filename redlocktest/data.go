package redlocktest

import (
	"maps"
	"time"
)

// look runs f on the store, with its clock set, between two commands. A dead master's store is what
// [Master.RestartWithData] would bring back.
func (m *Master) look(f func()) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.tickLocked()
	f()
}

// Keys returns the names of all keys of database 0, sorted.
func (m *Master) Keys() (keys []string) {
	m.look(func() { keys = m.store.Keys() })
	return keys
}

// Type returns "string", "hash", "zset", …, or "" if there is no such key.
func (m *Master) Type(key string) (kind string) {
	m.look(func() { kind = m.store.Type(key) })
	return kind
}

// TTL returns how long a key has left to live: zero if it does not expire or does not exist.
func (m *Master) TTL(key string) (left time.Duration) {
	m.look(func() { left = m.store.TTL(key) })
	return left
}

// Get returns the value of a string, or "".
func (m *Master) Get(key string) (value string) {
	m.look(func() { value, _ = m.store.Get(key) })
	return value
}

// HGet returns the value of a field of a hash, or "".
func (m *Master) HGet(key, field string) (value string) {
	m.look(func() { value = m.store.HGet(key, field) })
	return value
}

// Hash returns a copy of a hash, or nil.
func (m *Master) Hash(key string) (hash map[string]string) {
	m.look(func() {
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
	m.look(func() {
		if set, err := m.store.SortedSet(key); err == nil {
			scores = maps.Clone(set)
		}
	})
	return scores
}

// Set makes key a string that does not expire. It replaces whatever was there.
func (m *Master) Set(key, value string) {
	m.look(func() {
		m.store.Del(key)
		m.store.Set(key, value)
	})
}

// HSet sets a field of a hash. It replaces a key of another type.
func (m *Master) HSet(key, field, value string) {
	m.look(func() { m.store.HSet(key, field, value) })
}

// Expire makes a key expire after d.
func (m *Master) Expire(key string, d time.Duration) {
	m.look(func() { m.store.SetTTL(key, d) })
}

// Del removes a key and reports whether it existed.
func (m *Master) Del(key string) (found bool) {
	m.look(func() { found = m.store.Del(key) })
	return found
}

// FlushAll removes all data, as an operator's FLUSHALL does. Scripts stay.
func (m *Master) FlushAll() {
	m.look(func() { m.store.FlushAll() })
}

// FlushScripts empties the script cache: the next EVALSHA is answered with NOSCRIPT.
func (m *Master) FlushScripts() {
	m.look(m.discardScriptsLocked)
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
