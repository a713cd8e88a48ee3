package main

import "fmt"

// LockRules are the rules that keep two owners from holding the lock at once. All are
// true, or zero, in the protocol; a case breaks one to show that it is needed. The words
// in quotes are headings of docs/algorithm.md.
type LockRules struct {
	// Quorum: a hold needs the votes of N/2+1 masters. Broken, N/2 are enough. The opening.
	Quorum bool
	// Owner: an owner is used for one try. "What is stored".
	Owner ownerRule
	// FromSend: a grant is a vote from when its command was sent, not from when its answer
	// came. "Validity".
	FromSend bool
	// Margin: a vote ends as much earlier than its lease as clocks can differ. "Validity".
	Margin bool
	// QthLongest: a hold lasts until the q-th longest of its votes ends, not the longest.
	// "Waiting", Count.
	QthLongest bool

	// RenewFromSend: validity counts from when the round of renewals was sent, not from when
	// its answers came. "Renew".
	RenewFromSend bool
	// RenewInTime: a renewal that is confirmed after validity ended counts for nothing.
	// "Renew".
	RenewInTime bool
	// NeverShorten: a renewal leaves an expiry that is later than its own. "Renew".
	NeverShorten bool

	// Guard: a master that restarted grants no hold for a time. "Restart guard".
	Guard bool
	// GuardFull: that time is as long as the longest lease. Broken, a tick shorter.
	GuardFull bool
	// GuardAtRun: the guard holds when the script runs, not when it is sent.
	GuardAtRun bool
	// GuardPromoted: a replica that becomes a master has just restarted, however old its
	// process is.
	GuardPromoted bool

	// HealUnguarded: a renewal sets the lock again only on a master that is not guarded.
	// "Renew".
	HealUnguarded bool
	// HealFree: a renewal sets the lock again only where nobody has it. "Renew".
	HealFree bool

	// PassFrom: from when a pass is a vote. "Waiting", Count.
	PassFrom passRule
	// PassFull: the master keeps a lock that it passed on for as long as the waiter
	// counts. Broken, a tick less. "Waiting", Pass.
	PassFull bool
	// GrantExtends: an acquire that finds its own owner extends its lease before it counts.
	// "Acquire".
	GrantExtends bool
	// PassUnguarded: a guarded master passes the lock to nobody. "Waiting", Pass.
	PassUnguarded bool
}

// ownerRule says how often an owner is used.
type ownerRule uint8

// An owner is used once, or wrongly again: as soon as its release was sent, or when no
// master has it and no queue, so that every release seems to have done its work.
const (
	onceOnly ownerRule = iota
	againAtOnce
	againWhenGone
)

// passRule says from when a pass is a vote.
type passRule uint8

// A pass is a vote from when the ask was sent that it names. The others are wrong: from
// when its message was read, from when an answer was read that the owner waits, or from
// when the last ask was sent.
const (
	fromAsk passRule = iota
	fromReceipt
	fromAnswer
	fromLastAsk
)

// lockProtocol returns the rules as docs/algorithm.md has them.
func lockProtocol() LockRules {
	return LockRules{
		Quorum: true, FromSend: true, Margin: true, QthLongest: true,
		RenewFromSend: true, RenewInTime: true, NeverShorten: true,
		Guard: true, GuardFull: true, GuardAtRun: true, GuardPromoted: true,
		HealUnguarded: true, HealFree: true,
		PassFull: true, GrantExtends: true, PassUnguarded: true,
	}
}

// LockBounds say how large a case is.
type LockBounds struct {
	Masters int
	Owners  int // that are alive, or remembered by a master, at once: there is no end of new ones
	Lease   int // of acquire and renewal, in ticks
	Skew    int // by how many ticks a master may end a lease early, for a clock that runs fast

	Restarts restart // kinds that happen
	Crashes  int     // how often they happen; anyNumber: there is no limit

	Renews     bool // holds are renewed
	ShortLease int  // a late renewal may have this shorter lease; 0: all have the same
	Heals      bool // a renewal sets the lock again where it is gone
	PassLease  int  // of a lock that is passed on, in ticks; 0: nobody waits
	InFlight   bool // messages of a pass are read at any time, also if read at once is worse
}

// restart is a set of ways to restart.
type restart uint8

// A master restarts empty; or with all that it had; or with what it had when it last
// wrote to disk; or it is replaced by its replica, which has what it was last sent.
const (
	restartEmpty restart = 1 << iota
	restartSame
	restartOlder
	restartReplica

	noRestart restart = 0
)

// anyNumber is no limit.
const anyNumber = -1

func (r ownerRule) String() string {
	return [...]string{"once only", "again at once", "again when gone"}[r]
}

func (r passRule) String() string {
	return [...]string{"ask", "receipt", "answer", "last ask"}[r]
}

// String is the bounds as the table has them.
func (b LockBounds) String() string {
	s := fmt.Sprintf("N=%d K=%d L=%d", b.Masters, b.Owners, b.Lease)
	if b.PassLease > 0 {
		s += fmt.Sprintf(" H=%d", b.PassLease)
	}
	if b.ShortLease > 0 {
		s += fmt.Sprintf(" short=%d", b.ShortLease)
	}
	if b.Skew > 0 {
		s += fmt.Sprintf(" skew=%d", b.Skew)
	}
	return s + restarts(b.Restarts, b.Crashes)
}

// restarts tells of restarts as the table does.
func restarts(kinds restart, times int) string {
	s := ""
	for i, kind := range []string{"empty", "same", "older", "replica"} {
		if kinds&(1<<i) != 0 {
			s += " " + kind
		}
	}
	if s != "" && times > 0 {
		s += fmt.Sprintf("*%d", times)
	}
	return s
}
