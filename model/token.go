package main

import "math/bits"

// The fencing token, without time. A lock that a master has may be gone at any moment: its
// lease ended. What owners think of that is one of the bounds. This file has the state; the
// steps of the masters and of the owners are in tokenmaster.go and tokenowner.go.

// number is how many bits a counter has.
const number = 4

// maxRounds is how many rounds of raising a state has room for.
const maxRounds = 3

// tokenMaster is a master's own part of a state.
type tokenMaster struct {
	counter     uint8
	diskCounter uint8
	guarded     uint8
	least       uint8 // what all proposals that come here are above
}

// tokenOwner is an owner's own part of a state.
type tokenOwner struct {
	phase   phase
	read    uint8            // the largest counter that was read
	rounds  uint8            // of raising, so far
	raiseTo [maxRounds]uint8 // by each round
	token   uint8            // of the hold
	floor   uint8            // what the token must be above
}

// tokenSeat is what there is between an owner and a master.
type tokenSeat struct {
	has     uint8 // 1: the owner has the lock here
	diskHas uint8 // 1: it has it on the disk
	grants  uint8 // so far
	answer  uint8 // the counter that was read as an answer of this master; 0: none
	agreed  uint8 // 1: the answer to the last round is that it was raised
	valid   uint8 // 1: the owner counts this master's vote
	old     uint8 // 1: the lock, or the vote, is from before the master restarted
	pass    uint8 // a message is under way with this counter
	from    uint8 // and the token of who passed it
}

// tokenState is a state of the token.
type tokenState struct {
	masters [maxMasters]tokenMaster
	owners  [maxOwners]tokenOwner
	seats   [maxOwners][maxMasters]tokenSeat
	crashes uint8
}

// token is the protocol with some rules and bounds.
type token struct {
	TokenRules
	TokenBounds
	quorum int
	shape  *shape

	// Bits of fields that not every case needs, 0 where it does not.
	grants, leases, disk, restarts, crashes, pass, from, least int
}

func newToken(r TokenRules, b TokenBounds) *token {
	if b.Restarts != noRestart && !b.Leases {
		panic("model: a guard means nothing where leases do not")
	}
	t := &token{TokenRules: r, TokenBounds: b, quorum: b.Masters/2 + 1}
	use := func(used bool, width int) int {
		if used {
			return width
		}
		return 0
	}
	t.grants = bits.Len(uint(b.Grants))
	t.leases = use(b.Leases, 1)
	t.disk = use(b.Restarts&restartOlder != 0, 1)
	t.restarts = use(b.Restarts != noRestart, 1)
	t.crashes = bits.Len(uint(max(0, b.Crashes)))
	t.pass = use(b.Passes, number)
	t.from = use(b.Passes && !b.Leases, number)
	t.least = use(b.Clocks, number)

	var owner, master, seat coder
	t.codeOwner(&owner, &tokenOwner{})
	t.codeMaster(&master, &tokenMaster{})
	t.codeSeat(&seat, &tokenSeat{})
	t.shape = newShape(t.Owners, t.Masters, t.crashes, owner.at, master.at, seat.at)
	return t
}

func (t *token) codeMaster(c *coder, x *tokenMaster) {
	c.field(&x.counter, number)
	c.field(&x.diskCounter, number*t.disk)
	c.field(&x.guarded, t.restarts)
	c.field(&x.least, t.least)
}

func (t *token) codeOwner(c *coder, x *tokenOwner) {
	c.field(&x.phase, 3)
	c.field(&x.read, number)
	c.field(&x.rounds, 2)
	for i := range t.Rounds {
		c.field(&x.raiseTo[i], number)
	}
	c.field(&x.token, number)
	c.field(&x.floor, number)
}

func (t *token) codeSeat(c *coder, x *tokenSeat) {
	c.field(&x.has, 1)
	c.field(&x.diskHas, t.disk)
	c.field(&x.grants, t.grants)
	c.field(&x.answer, number)
	c.field(&x.agreed, 1)
	c.field(&x.valid, t.leases)
	c.field(&x.old, t.restarts)
	c.field(&x.pass, t.pass)
	c.field(&x.from, t.from)
}

func (t *token) pack(s *tokenState) key {
	var g grid
	g.whole = uint64(s.crashes)
	for m := range t.Masters {
		var c coder
		t.codeMaster(&c, &s.masters[m])
		g.masters[m] = c.word
	}
	for i := range t.Owners {
		var c coder
		t.codeOwner(&c, &s.owners[i])
		g.owners[i] = c.word
		for m := range t.Masters {
			var c coder
			t.codeSeat(&c, &s.seats[i][m])
			g.seats[i][m] = c.word
		}
	}
	return t.shape.pack(&g)
}

func (t *token) unpack(k key) (s tokenState) {
	g := t.shape.unpack(k)
	s.crashes = uint8(g.whole)
	for m := range t.Masters {
		t.codeMaster(&coder{word: g.masters[m], reading: true}, &s.masters[m])
	}
	for i := range t.Owners {
		t.codeOwner(&coder{word: g.owners[i], reading: true}, &s.owners[i])
		for m := range t.Masters {
			t.codeSeat(&coder{word: g.seats[i][m], reading: true}, &s.seats[i][m])
		}
	}
	return s
}

func (t *token) first() tokenState { return tokenState{} }

// Violations of the token.
const (
	equalTokens     = "equal tokens"
	tokenNotGrowing = "token not growing"
)

// wrong looks for what must not be.
func (t *token) wrong(s *tokenState) string {
	for i := range t.Owners {
		for j := range i {
			if s.owners[i].token > 0 && s.owners[i].token == s.owners[j].token {
				return equalTokens
			}
		}
	}
	for i := range t.Owners {
		if o := &s.owners[i]; o.token > 0 && o.token <= o.floor {
			return tokenNotGrowing
		}
	}
	return ""
}
