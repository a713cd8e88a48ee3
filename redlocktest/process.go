package redlocktest

import (
	"crypto/rand"
	"encoding/hex"
	"time"
)

// A process is one run of a Redis server, from its start to its death. It keeps one run_id.
type process struct {
	runID    string
	replID   string
	replID2  string
	pid      int
	started  time.Time // by the master's clock
	frozen   bool
	sessions map[int64]*session
	lastID   int64 // of a session; like Redis, each process counts from 1
}

func newProcess(started time.Time) *process {
	return &process{
		runID:    randomID(),
		replID:   randomID(),
		replID2:  noReplID,
		pid:      newPID(),
		started:  started,
		sessions: map[int64]*session{},
	}
}

// randomID returns 40 hex digits, the form of Redis's run ids and replication ids.
func randomID() string {
	var b [20]byte
	rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

func newPID() int {
	var b [2]byte
	rand.Read(b[:])
	return 2 + int(b[0])<<8 + int(b[1])
}

// promote ends the replication history that a replica shared with its master, and starts its own.
func (p *process) promote() {
	p.replID2, p.replID = p.replID, randomID()
}

// secondOffset returns where the earlier history ended, or -1 if there is none.
func (p *process) secondOffset() int {
	if p.replID2 == noReplID {
		return -1
	}
	return 1
}
