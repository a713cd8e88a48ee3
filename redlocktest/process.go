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
	replID2  string    // of the history that it shared when it was a replica, or noReplID
	started  time.Time // by the master's clock
	frozen   bool
	sessions map[int64]*session
	lastID   int64 // of a session; like Redis, each process counts from 1
}

// noReplID is what Redis shows for a replication history that it does not have.
const noReplID = "0000000000000000000000000000000000000000"

func newProcess(started time.Time) *process {
	return &process{
		runID:    randomID(),
		replID:   randomID(),
		replID2:  noReplID,
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
