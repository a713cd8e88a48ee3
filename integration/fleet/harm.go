package fleet

import (
	"errors"
)

// Flush deletes all keys.
func (m *Master) Flush() error { return m.tell("flush", "FLUSHALL") }

// FlushScripts makes the server forget all scripts.
func (m *Master) FlushScripts() error { return m.tell("flush scripts of", "SCRIPT", "FLUSH") }

// KillClients closes all connections of clients, those of subscribers too.
func (m *Master) KillClients() error {
	return errors.Join(
		m.tell("kill subscribers of", "CLIENT", "KILL", "TYPE", "pubsub"),
		m.tell("kill clients of", "CLIENT", "KILL", "TYPE", "normal"))
}

// Demote makes the master a replica of a server that does not exist: it keeps its data and refuses writes,
// until Promote or a restart.
func (m *Master) Demote() error { return m.tell("demote", "REPLICAOF", "127.0.0.1", "1") }

// Promote makes it a master again.
func (m *Master) Promote() error { return m.tell("promote", "REPLICAOF", "NO", "ONE") }

// tell sends a command that only has to succeed.
func (m *Master) tell(act, command string, args ...any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.Do(command, args...)
	return m.did(act, err)
}
