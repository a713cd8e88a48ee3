package redlocktest

import (
	"strings"
	"sync"
)

// A tally counts the commands that a master has carried out or refused, by name. It does not count
// commands that scripts call.
type tally struct {
	mu     sync.Mutex
	counts map[string]int64
	sum    int64
}

func (t *tally) add(cmd string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.counts == nil {
		t.counts = map[string]int64{}
	}
	t.counts[cmd]++
	t.sum++
}

func (t *tally) total() int64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.sum
}

// Commands returns how many commands the master has carried out or refused since the fleet was
// started, handshakes included. A script call is one command, whatever the script calls.
func (m *Master) Commands() int64 { return m.tally.total() }

// Calls is [Master.Commands] for one command, as in Calls("EVALSHA").
func (m *Master) Calls(cmd string) int64 {
	m.tally.mu.Lock()
	defer m.tally.mu.Unlock()
	return m.tally.counts[strings.ToUpper(cmd)]
}
