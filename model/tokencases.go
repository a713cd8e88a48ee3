package main

// tokenCase is a line of the table, for the fencing token.
type tokenCase struct {
	name   string
	shows  string
	bounds TokenBounds
	breaks func(*TokenRules) // nil: none
}

// tries is what bounds begin with: three masters, and so many tries, rounds of raising and
// proposals.
func tries(owners, rounds, proposals int) TokenBounds {
	return TokenBounds{Masters: 3, Owners: owners, Rounds: rounds, Spread: proposals, Grants: 1}
}

func tokenCases() []tokenCase {
	two := tries(2, 2, 2)
	passed := tries(2, 1, 2).pass()
	lost := tries(2, 1, 1).leases().clocks()
	return []tokenCase{
		// As long as masters keep their counters, neither clocks nor leases matter.
		{"any clocks, any leases", safe, two, nil},
		{"three rounds", safe, tries(2, 3, 1), nil},
		{"four masters", safe, tries(2, 1, 1).size(4), nil},
		{"five masters", safe, tries(2, 0, 1).size(5), nil},
		{"leases", safe, two.leases(), nil},
		{"passes", safe, passed, nil},
		{"passes, leases", safe, passed.leases(), nil},

		{"the largest is the token", equalTokens, two, func(r *TokenRules) { r.RaiseRound = false }},
		{"the largest is the token, leases", equalTokens, two.leases(), func(r *TokenRules) { r.RaiseRound = false }},
		{"a grant by less than one", equalTokens, two, func(r *TokenRules) { r.GrantAbove = false }},
		{"whoever has the lock is raised", equalTokens, two, func(r *TokenRules) { r.RaiseOwner = false }},
		{"answers to the round before", equalTokens, two, func(r *TokenRules) { r.RaiseThisRound = false }},
		{"a token below what was read", tokenNotGrowing, passed, func(r *TokenRules) { r.AboveRead = false }},
		{"heal lowers a counter", equalTokens, tries(3, 1, 1), func(r *TokenRules) { r.HealRaises = false }},
		{"a pass without one more", equalTokens, passed, func(r *TokenRules) { r.PassAbove = false }},
		{"a pass below the token", tokenNotGrowing, passed, func(r *TokenRules) { r.PassToken = false }},
		// The rule that safety does not need.
		{"an equal counter agrees", safe, two, func(r *TokenRules) { r.RaiseLower = false }},

		// Where masters forget their counters, leases and clocks must be right.
		{"lost counters", safe, lost.restart(restartEmpty), nil},
		{"older counters", safe, tries(2, 0, 1).leases().clocks().once(restartOlder), nil},
		{"lost counters, any clocks", equalTokens, tries(2, 1, 1).leases().once(restartEmpty), nil},
		{"lost counters, no guard", equalTokens, lost.once(restartEmpty), func(r *TokenRules) { r.Guard = false }},
		{"lost counters, agreed by who votes no more", equalTokens, lost.once(restartEmpty), func(r *TokenRules) { r.Together = false }},
	}
}

func longTokenCases() []tokenCase {
	return []tokenCase{
		{"any clocks, long", safe, tries(2, 2, 3), nil},
		{"three tries", safe, tries(3, 0, 1), nil},
		{"three tries, passes, leases", safe, tries(3, 0, 1).pass().leases(), nil},
		{"passes, two rounds", safe, tries(2, 2, 2).pass(), nil},
		{"granted twice", safe, tries(2, 1, 1).grants(2).leases(), nil},
		{"an equal counter agrees, older counters", safe, tries(2, 1, 1).leases().clocks().once(restartOlder), func(r *TokenRules) { r.RaiseLower = false }},
		{"older counters, raised", safe, tries(2, 1, 1).leases().clocks().once(restartOlder), nil},
		{"lost counters, two proposals", safe, tries(2, 1, 2).leases().clocks().once(restartEmpty), nil},
		{"lost counters, passes", safe, tries(2, 1, 1).leases().clocks().pass().restart(restartEmpty), nil},
	}
}

func (b TokenBounds) size(masters int) TokenBounds { b.Masters = masters; return b }
func (b TokenBounds) grants(n int) TokenBounds     { b.Grants = n; return b }
func (b TokenBounds) leases() TokenBounds          { b.Leases = true; return b }
func (b TokenBounds) clocks() TokenBounds          { b.Clocks = true; return b }
func (b TokenBounds) pass() TokenBounds            { b.Passes = true; return b }

// restart has masters restart, as often as they like.
func (b TokenBounds) restart(kind restart) TokenBounds {
	b.Restarts, b.Crashes = kind, anyNumber
	return b
}

// once has one master restart, once.
func (b TokenBounds) once(kind restart) TokenBounds {
	b.Restarts, b.Crashes = kind, 1
	return b
}
