package main

// lockCase is a line of the table, for the lock with time. Bounds are as small as they may
// be: a broken rule must show, and the whole must fit into a minute. What is safe is
// searched with restarts without end, wherever that can be done.
type lockCase struct {
	name   string
	shows  string
	bounds LockBounds
	breaks func(*LockRules) // nil: none
}

// three masters and two owners, who renew: what bounds begin with.
func three() LockBounds { return LockBounds{Masters: 3, Owners: 2, Lease: 3, Renews: true} }

// everything that can happen to a master.
const everything = restartEmpty | restartSame | restartOlder | restartReplica

// exclusionCases: nobody waits, and what is gone is not set again.
func exclusionCases() []lockCase {
	b := three()
	return []lockCase{
		{"nothing fails", safe, b, nil},
		{"masters restart empty", safe, b.restart(restartEmpty), nil},
		{"masters restart", safe, b.restart(restartEmpty | restartSame), nil},
		{"masters restore an older state", safe, b.lease(2).restart(restartOlder), nil},
		{"replicas take over", safe, b.lease(2).restart(restartReplica), nil},
		{"three owners", safe, b.size(3, 3).restart(restartEmpty), nil},
		{"four masters", safe, b.size(4, 2).restart(restartEmpty), nil},
		{"five masters", safe, b.size(5, 2).lease(2).restart(restartEmpty), nil},
		{"clocks differ", safe, b.lease(4).skew().restart(restartEmpty), nil},
		{"short renewals", safe, b.short().restart(restartEmpty), nil},

		{"half of the masters", twoHolders, b, func(r *LockRules) { r.Quorum = false }},
		{"two of four", twoHolders, b.size(4, 2), func(r *LockRules) { r.Quorum = false }},
		{"an owner is used again", twoHolders, b, func(r *LockRules) { r.Owner = againAtOnce }},
		{"valid from the answer", twoHolders, b, func(r *LockRules) { r.FromSend = false }},
		{"no margin for clocks", twoHolders, b.skew(), func(r *LockRules) { r.Margin = false }},
		{"extended from the answer", twoHolders, b, func(r *LockRules) { r.RenewFromSend = false }},
		{"confirmed after the end", holdCameBack, b, func(r *LockRules) { r.RenewInTime = false }},
		{"a renewal shortens", twoHolders, b.short(), func(r *LockRules) { r.NeverShorten = false }},
		{"no guard", twoHolders, b.once(restartEmpty), func(r *LockRules) { r.Guard = false }},
		{"a guard that is a tick short", twoHolders, b.once(restartEmpty), func(r *LockRules) { r.GuardFull = false }},
		{"a guard when it is sent", twoHolders, b.once(restartEmpty), func(r *LockRules) { r.GuardAtRun = false }},
		{"a replica as old as its process", twoHolders, b.lease(2).once(restartReplica), func(r *LockRules) { r.GuardPromoted = false }},
	}
}

func longExclusionCases() []lockCase {
	b := three()
	return []lockCase{
		{"three owners, long", safe, b.size(3, 3).restart(restartEmpty | restartSame), nil},
		{"five masters, long", safe, b.size(5, 2).restart(restartEmpty), nil},
		{"five masters, three owners", safe, b.size(5, 3).lease(2).restart(restartEmpty), nil},
		{"all that happens to masters", safe, b.lease(2).restart(everything), nil},
		{"longer leases", safe, b.lease(4).restart(restartEmpty | restartSame), nil},
	}
}

// healCases: a renewal sets the lock again on a master where it is gone.
func healCases() []lockCase {
	b := three().heal()
	return []lockCase{
		{"masters restart empty", safe, b.restart(restartEmpty), nil},
		{"masters restart", safe, b.restart(restartEmpty | restartSame), nil},
		{"masters restore an older state", safe, b.lease(2).restart(restartOlder), nil},
		{"three owners", safe, b.size(3, 3).restart(restartEmpty), nil},
		{"five masters", safe, b.size(5, 2).lease(2).restart(restartEmpty), nil},
		{"clocks differ", safe, b.lease(4).skew().restart(restartEmpty), nil},
		{"short renewals", safe, b.short().restart(restartEmpty), nil},

		{"on a guarded master", twoHolders, b.once(restartEmpty), func(r *LockRules) { r.HealUnguarded = false }},
		{"where another has the lock", twoHolders, b, func(r *LockRules) { r.HealFree = false }},
		{"confirmed after the end", holdCameBack, b, func(r *LockRules) { r.RenewInTime = false }},
	}
}

func longHealCases() []lockCase {
	b := three().heal()
	return []lockCase{
		{"all that happens to masters", safe, b.lease(2).restart(everything), nil},
		{"five masters, long", safe, b.size(5, 2).restart(restartEmpty), nil},
	}
}

// passCases: owners wait, and a release passes the lock on. In some, renewals heal as well.
func passCases() []lockCase {
	b := three().pass(2)
	small := three().lease(2).pass(1)
	return []lockCase{
		{"nothing fails", safe, b, nil},
		{"masters restart empty", safe, b.restart(restartEmpty), nil},
		{"masters restart", safe, small.restart(restartEmpty | restartSame), nil},
		{"masters restore an older state", safe, small.once(restartOlder), nil},
		{"two wait", safe, b.size(3, 3).restart(restartEmpty), nil},
		{"five masters", safe, small.size(5, 2).restart(restartEmpty), nil},
		{"as long as a lease", safe, b.pass(3).restart(restartEmpty), nil},
		{"a tick", safe, b.pass(1).restart(restartEmpty), nil},
		{"clocks differ", safe, b.lease(4).pass(3).skew().restart(restartEmpty), nil},
		{"short renewals", safe, b.short().restart(restartEmpty), nil},
		{"passes read at any time", safe, small.inFlight().restart(restartEmpty), nil},
		{"heal", safe, b.heal().restart(restartEmpty), nil},
		{"heal, two wait", safe, b.heal().size(3, 3).restart(restartEmpty), nil},
		{"heal, an older state", safe, small.heal().once(restartOlder), nil},
		{"heal, five masters", safe, small.heal().size(5, 2).restart(restartEmpty), nil},

		{"valid from the receipt", twoHolders, b, func(r *LockRules) { r.PassFrom = fromReceipt }},
		{"valid from the answer", twoHolders, small, func(r *LockRules) { r.PassFrom = fromAnswer }},
		{"valid from the last ask", twoHolders, b, func(r *LockRules) { r.PassFrom = fromLastAsk }},
		{"a master passes for a tick less", twoHolders, b, func(r *LockRules) { r.PassFull = false }},
		{"a grant does not extend", twoHolders, b, func(r *LockRules) { r.GrantExtends = false }},
		{"until the longest vote", twoHolders, b, func(r *LockRules) { r.QthLongest = false }},
		{"an owner is used again", twoHolders, small, func(r *LockRules) { r.Owner = againWhenGone }},
		{"a guarded master passes", twoHolders, small.size(3, 3).once(restartEmpty), func(r *LockRules) { r.PassUnguarded = false }},
		{"a guarded master passes, older state", twoHolders, small.size(3, 3).once(restartOlder), func(r *LockRules) { r.PassUnguarded = false }},
		{"no margin for clocks", twoHolders, b.skew(), func(r *LockRules) { r.Margin = false }},
		{"no guard", twoHolders, b.once(restartEmpty), func(r *LockRules) { r.Guard = false }},
		{"heal on a guarded master", twoHolders, b.heal().once(restartEmpty), func(r *LockRules) { r.HealUnguarded = false }},
		{"heal where another has the lock", twoHolders, b.heal(), func(r *LockRules) { r.HealFree = false }},
	}
}

func longPassCases() []lockCase {
	b := three().heal().pass(2)
	small := three().heal().lease(2).pass(1)
	return []lockCase{
		{"masters restart, long", safe, b.restart(restartEmpty | restartSame), nil},
		{"two wait, an older state", safe, small.size(3, 3).once(restartOlder), nil},
		{"passes read at any time, long", safe, b.inFlight().restart(restartEmpty), nil},
		{"five masters, two wait", safe, small.size(5, 3).restart(restartEmpty), nil},
		{"five masters, long", safe, b.size(5, 2).restart(restartEmpty), nil},
		{"all that happens to masters", safe, small.restart(everything), nil},
	}
}

func (b LockBounds) size(masters, owners int) LockBounds {
	b.Masters, b.Owners = masters, owners
	return b
}

func (b LockBounds) lease(ticks int) LockBounds { b.Lease = ticks; return b }
func (b LockBounds) pass(ticks int) LockBounds  { b.PassLease = ticks; return b }
func (b LockBounds) short() LockBounds          { b.ShortLease = 2; return b }
func (b LockBounds) skew() LockBounds           { b.Skew = 1; return b }
func (b LockBounds) heal() LockBounds           { b.Heals = true; return b }
func (b LockBounds) inFlight() LockBounds       { b.InFlight = true; return b }

// restart has masters restart in some ways, as often as they like.
func (b LockBounds) restart(kinds restart) LockBounds {
	b.Restarts, b.Crashes = kinds, anyNumber
	return b
}

// once has one master restart, once.
func (b LockBounds) once(kind restart) LockBounds {
	b.Restarts, b.Crashes = kind, 1
	return b
}
