package script

import (
	"strconv"
	"strings"
	"time"
)

// QueueEntry is what a waiter says of itself when it enters the queue of a lock.
type QueueEntry struct {
	Round    uint64        // the owner's questions to all masters, from 1; a HandOff names the one it answers, see CountFrom
	Since    int64         // when the caller began to wait, in µs since 1970; the same in each round
	Lease    time.Duration // for which the lock may be handed to it; whole milliseconds
	Proposal int64         // the fencing token asked for
	Polls    bool          // it may not hear of a HandOff: it asks whether the lock was handed to it
}

// HandOff says that a master handed a lock to an owner, for the lease that its entry asked for.
type HandOff struct {
	Owner  string
	Wanted bool   // none: somebody else wants the lock, which Owner has; Owner [Keeps]
	Round  uint64 // of the last entry that the master had of Owner, see [Owner.Round]; 0: the lock is left to Redisson's clients for a moment
	Token  int64  // fencing counter
	Key    string // without the prefix
}

// DecodeHandOff reads what queue.lua publishes: owner, round, token and key; or owner, the word wanted, and key. Behind the
// token of a reader is ":shared", which its owner knows. ok is false if the payload is neither, or of a name that this client
// does not have.
func (p Prefix) DecodeHandOff(payload string) (h HandOff, ok bool) {
	owner, rest, _ := strings.Cut(payload, " ")
	key, wanted := strings.CutPrefix(rest, "wanted ")
	if wanted {
		h, ok = HandOff{Owner: owner, Wanted: true}, Keeps(owner)
	} else {
		round, rest, _ := strings.Cut(rest, " ")
		counter, last, _ := strings.Cut(rest, " ")
		number, err1 := strconv.ParseUint(round, 10, 64)
		token, err2 := strconv.ParseInt(strings.TrimSuffix(counter, ":"+SharedHolder), 10, 64)
		h, key = HandOff{Owner: owner, Round: number, Token: token}, last
		ok = owner != "" && err1 == nil && err2 == nil && 0 <= token && token <= MaxToken
	}
	if ok = ok && key != ""; ok {
		h.Key, ok = p.Name(key)
	}
	return h, ok
}

// Keeps reports whether owner is "uuid:kN": its client may keep the lock when it is done.
func Keeps(owner string) bool {
	return len(owner) > uuidSize+len(keepMark) && owner[uuidSize:uuidSize+len(keepMark)] == keepMark
}

// ReleaseOfAny returns the release of a lock that an owner may have alone or share. The owner may have been a
// writer when the lock was handed to it, and be a reader now. Of the releases that a
// master has not answered only the last is sent again, so that must free either. It raises no fencing counter:
// the grant has done that, and the token of a message may be forged.
func ReleaseOfAny(key, owner string) *Command {
	return NewReader(key, owner).Release(1, 0) // it frees also what a reader has alone
}

// HandOffChannel is where a client is told of hand-offs, as queue.lua has it. client is the
// uuid that its owners begin with.
func HandOffChannel(client string) string { return "redlock_wake:" + client }
