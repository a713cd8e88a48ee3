package main

import "fmt"

// TokenRules are the rules that make fencing tokens unique and let them grow. All are true
// in the protocol. The words in quotes are headings of docs/algorithm.md.
type TokenRules struct {
	// GrantAbove: a grant raises the counter to the proposal, or by one if that is not
	// larger. Broken, not by one. "Fencing token".
	GrantAbove bool
	// RaiseRound: where not q masters have answered the same number, a round raises the
	// others to it. Broken, the largest answer is the token.
	RaiseRound bool
	// RaiseOwner: a master is raised only as long as the owner has the lock there.
	RaiseOwner bool
	// RaiseLower: a master is raised only if its counter is lower than the token; one that is
	// equal refuses. This is the one rule that safety does not need, as long as RaiseOwner is
	// kept: a counter under an owner's lock was set for that owner.
	RaiseLower bool
	// RaiseThisRound: what a master answers to an earlier round counts for nothing.
	RaiseThisRound bool
	// Together: the q masters that answered the token are masters whose votes are valid now.
	// Broken, the answer of one whose vote has ended still counts; that is harmless unless
	// masters forget their counters.
	Together bool
	// AboveRead: the token is no smaller than any counter that was read for this try.
	AboveRead bool

	// HealRaises: a renewal leaves a counter that is larger than its token.
	HealRaises bool
	// PassAbove: a pass raises the counter to the proposal of the ask, or by one if that is not
	// larger. Broken, not by one. "Waiting", Pass.
	PassAbove bool
	// PassToken: a pass first raises the counter to the token of the hold that ends.
	PassToken bool
	// Guard: a master that restarted grants no hold until what it forgot has ended.
	// "Restart guard".
	Guard bool
}

// tokenProtocol returns the rules as docs/algorithm.md has them.
func tokenProtocol() TokenRules {
	return TokenRules{
		GrantAbove: true, RaiseRound: true, RaiseOwner: true, RaiseLower: true,
		RaiseThisRound: true, Together: true, AboveRead: true,
		HealRaises: true, PassAbove: true, PassToken: true, Guard: true,
	}
}

// TokenBounds say how large a case is.
type TokenBounds struct {
	Masters int
	Owners  int // that there ever are
	Rounds  int // of raising, at most
	Grants  int // how often one master gives the lock to one owner, at most

	Leases bool // a vote ends no later than the lease. If not, any lease ends at any time
	Clocks bool // an ask proposes more than the token of any hold that began before it was sent. If not, anything
	Spread int  // proposals there are to choose from

	Passes   bool    // a release may pass the lock on
	Restarts restart // kinds that happen: empty and older
	Crashes  int     // how often they happen; anyNumber: there is no limit
}

// String is the bounds as the table has them.
func (b TokenBounds) String() string {
	s := fmt.Sprintf("N=%d K=%d R=%d G=%d P=%d", b.Masters, b.Owners, b.Rounds, b.Grants, b.Spread)
	if b.Leases {
		s += " leases"
	}
	if b.Clocks {
		s += " clocks"
	}
	if b.Passes {
		s += " pass"
	}
	return s + restarts(b.Restarts, b.Crashes)
}
