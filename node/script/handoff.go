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
	Owner string
	Round uint64 // of the last entry that the master had of Owner, see [Owner.Round]; 0: the lock is left to Redisson's clients for a moment
	Token int64  // fencing counter
	Key   string
}

// DecodeHandOff reads what queue.lua publishes: owner, round, token and key. Behind the token of a
// reader is ":shared", which says nothing that its owner does not know.
func DecodeHandOff(payload string) (HandOff, bool) {
	words := strings.SplitN(payload, " ", 4)
	if len(words) != 4 || words[0] == "" || words[3] == "" {
		return HandOff{}, false
	}
	counter := strings.TrimSuffix(words[2], ":"+SharedHolder)
	h := HandOff{Owner: words[0], Key: words[3]}
	var err1, err2 error
	h.Round, err1 = strconv.ParseUint(words[1], 10, 64)
	h.Token, err2 = strconv.ParseInt(counter, 10, 64)
	if err1 != nil || err2 != nil || h.Token < 0 || h.Token > MaxToken {
		return HandOff{}, false
	}
	return h, true
}

// DecodeWanted reads what queue.lua publishes: the owner of a client that keeps locks, the word wanted where a
// HandOff has its round, and the key that somebody else wants.
func DecodeWanted(payload string) (owner, key string, ok bool) {
	owner, rest, _ := strings.Cut(payload, " ")
	key, ok = strings.CutPrefix(rest, "wanted ")
	return owner, key, ok && Keeps(owner) && key != ""
}

// Keeps reports whether owner is "uuid:kN": its client may keep the lock when it is done.
func Keeps(owner string) bool {
	return len(owner) > uuidSize+len(keepMark) && owner[uuidSize:uuidSize+len(keepMark)] == keepMark
}

// ReleaseOfAny returns the release of a lock that an owner may have alone or share. It may have been a
// writer when the lock was handed to it, and a reader when it was released: of the releases that a
// master has not answered only the last is sent again, so that must free either. It raises no fencing counter:
// whatever gave the owner the lock did, and the token of a message may be made up.
func ReleaseOfAny(key, owner string) *Command {
	return NewReader(key, owner).Release(1, 0) // it frees also what a reader has alone
}

// HandOffChannel is where a client is told of hand-offs, as queue.lua has it. client is the
// uuid that its owners begin with.
func HandOffChannel(client string) string { return "redlock_wake:" + client }
