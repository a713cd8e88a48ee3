package main

// What happens at the masters, as far as tokens go. Commands are carried out late, twice
// or never here as well, but for what a restart loses: a command does not outlive the
// process that it was sent to.

// each implements [system].
func (t *token) each(s *tokenState, do func(step, *tokenState)) {
	for m := range t.Masters {
		t.eachFault(s, m, do)
	}
	for i := range t.Owners {
		t.eachOwner(s, i, do)
		if s.owners[i].phase == absent {
			continue
		}
		for m := range t.Masters {
			t.acquire(s, i, m, do)
			t.raise(s, i, m, do)
			t.renew(s, i, m, do)
			t.release(s, i, m, do)
			t.read(s, i, m, do)
		}
	}
}

// eachFault is the end of a lease at master m, and what a restart does.
func (t *token) eachFault(s *tokenState, m int, do func(step, *tokenState)) {
	try := func(a action, change func(n *tokenState)) {
		n := *s
		change(&n)
		if n != *s {
			do(step{action: a, master: m}, &n)
		}
	}
	try(actLapse, func(n *tokenState) {
		// A lease that ends also ends on the disk; only a release does not.
		if i := t.holder(n, m); i >= 0 && n.owners[i].phase != over && n.owners[i].phase != gone {
			n.seats[i][m].diskHas = 0
		}
		t.free(n, m)
	})
	if t.Restarts == noRestart {
		return
	}
	for i := range t.Owners {
		if s.seats[i][m].valid > s.seats[i][m].has {
			// The master has forgotten the vote. For its owner it ends later.
			n := *s
			n.seats[i][m].valid, n.seats[i][m].old = 0, 0
			do(step{action: actVoteEnds, owner: i, master: m}, &n)
		}
	}
	if t.trusted(s, m) {
		try(actGuardEnds, func(n *tokenState) { t.unguard(n, m) })
	}
	if t.disk > 0 && t.mayMatter(s, m) {
		try(actWrite, func(n *tokenState) { t.write(n, m) })
		try(actLapseDisk, func(n *tokenState) { t.wipe(n, m) })
	}
	if t.Crashes > 0 && int(s.crashes) == t.Crashes {
		return
	}
	crash := func(n *tokenState) {
		x := &n.masters[m]
		x.counter, x.guarded = x.diskCounter, 1
		for i := range t.Owners {
			y := &n.seats[i][m]
			y.has = y.diskHas
			y.old = max(y.has, y.valid)
		}
		if t.Crashes > 0 {
			if n.crashes++; int(n.crashes) == t.Crashes {
				for k := range t.Masters {
					n.masters[k].diskCounter = 0
					t.wipe(n, k)
				}
			}
		}
	}
	if t.Restarts&restartEmpty != 0 {
		try(actStartEmpty, func(n *tokenState) {
			n.masters[m].diskCounter = 0
			t.wipe(n, m)
			crash(n)
		})
	}
	if t.Restarts&restartOlder != 0 {
		try(actStartOlder, crash)
	}
}

// trusted reports whether the guard of master m can end: what it had before its restart,
// and what its owners count of that, has ended or was renewed since.
func (t *token) trusted(s *tokenState, m int) bool {
	for i := range t.Owners {
		if t.Guard && s.seats[i][m].old == 1 {
			return false
		}
	}
	return true
}

// unguard is the end of the guard of master m. What it grants from now on was asked for
// from now on, since nobody sends asks to a guarded master.
func (t *token) unguard(n *tokenState, m int) {
	n.masters[m].guarded = 0
	if t.Clocks {
		n.masters[m].least = t.highestToken(n)
	}
}

// mayMatter reports whether it matters what master m has on its disk: where one master
// restarts once, one disk is enough to look at.
func (t *token) mayMatter(s *tokenState, m int) bool {
	if t.Crashes == anyNumber {
		return true
	}
	for k := range t.Masters {
		if k != m && t.Crashes == 1 && s.masters[k].diskCounter > 0 {
			return false
		}
	}
	return int(s.crashes) < t.Crashes
}

// wipe is the end of the lease on master m's disk.
func (t *token) wipe(n *tokenState, m int) {
	for i := range t.Owners {
		n.seats[i][m].diskHas = 0
	}
}

// write puts what master m has on its disk.
func (t *token) write(n *tokenState, m int) {
	n.masters[m].diskCounter = n.masters[m].counter
	for i := range t.Owners {
		n.seats[i][m].diskHas = n.seats[i][m].has
	}
}

// free takes the lock from whoever has it at master m. A vote does not outlive it, if
// leases are to be relied on.
func (t *token) free(n *tokenState, m int) {
	for i := range t.Owners {
		if x := &n.seats[i][m]; x.has == 1 {
			x.has, x.valid, x.old = 0, 0, 0
			if t.Leases {
				x.pass = 0
			}
		}
	}
}

// holder returns who has the lock at master m, -1 if nobody has.
func (t *token) holder(s *tokenState, m int) int {
	for i := range t.Owners {
		if s.seats[i][m].has == 1 {
			return i
		}
	}
	return -1
}

// acquire is acquire.lua, whose answer may be lost. It is not sent to a guarded master.
func (t *token) acquire(s *tokenState, i, m int, do func(step, *tokenState)) {
	if s.masters[m].guarded == 1 {
		return
	}
	switch holder := t.holder(s, m); {
	case holder == i:
		n := *s
		t.answer(&n, i, m, n.masters[m].counter)
		if n != *s {
			do(step{action: actGrant, owner: i, master: m}, &n)
		}
	case holder < 0 && int(s.seats[i][m].grants) < t.Grants:
		from := s.masters[m].counter
		if t.GrantAbove {
			from++
		}
		t.eachProposal(s, m, from, func(counter uint8) {
			n := *s
			n.seats[i][m].has = 1
			n.seats[i][m].grants++
			n.masters[m].counter = counter
			do(step{action: actGrantLost, owner: i, master: m}, &n)
			t.answer(&n, i, m, counter)
			do(step{action: actGrant, owner: i, master: m}, &n)
		})
	}
}

// eachProposal calls do with each counter, no lower than from, that master m may set for an
// ask. The proposal is not a part of a state: it is any that the clocks allow, since an
// owner asks again and again. Asks that reach a master were sent after it restarted, and
// those in its queue from before are too old when its guard ends.
func (t *token) eachProposal(s *tokenState, m int, from uint8, do func(counter uint8)) {
	least := s.masters[m].least
	from = max(from, least+1)
	do(from)
	for p := from + 1; p <= least+uint8(t.Spread); p++ {
		do(p)
	}
}

// raise is raise.lua, for each round that there was.
func (t *token) raise(s *tokenState, i, m int, do func(step, *tokenState)) {
	o, counter := &s.owners[i], s.masters[m].counter
	for round := range o.rounds {
		last := round == o.rounds-1
		to := o.raiseTo[round]
		n := *s
		p := &n.owners[i]
		if (s.seats[i][m].has == 1 || !t.RaiseOwner) &&
			(counter < to || counter == to && !t.RaiseLower) {
			n.masters[m].counter = to
			if o.phase == raising && (last || !t.RaiseThisRound) {
				n.seats[i][m].agreed = 1
			}
			if n != *s {
				do(step{action: actRaise, owner: i, master: m}, &n)
			}
		} else if o.phase == raising && last && counter > p.read {
			p.read = counter
			do(step{action: actRefuse, owner: i, master: m}, &n)
		}
	}
}

// renew is renew.lua: owner i has its token.
func (t *token) renew(s *tokenState, i, m int, do func(step, *tokenState)) {
	o, holder := &s.owners[i], t.holder(s, m)
	if o.token == 0 || holder >= 0 && holder != i || holder < 0 && s.masters[m].guarded == 1 {
		return
	}
	n := *s
	n.seats[i][m].has = 1
	if t.Leases && t.votes(s, i) >= t.quorum && o.phase == holding {
		n.seats[i][m].valid, n.seats[i][m].old = 1, 0
	}
	if s.masters[m].counter < o.token || holder < 0 && !t.HealRaises {
		n.masters[m].counter = o.token
	}
	a := actConfirm
	if holder < 0 {
		a = actHeal
	}
	if n != *s {
		do(step{action: a, owner: i, master: m}, &n)
	}
}

// release is release.lua where it passes the lock on. Where it does not, it is as if the
// lease ended.
func (t *token) release(s *tokenState, i, m int, do func(step, *tokenState)) {
	o, holder := &s.owners[i], t.holder(s, m)
	if !t.Passes || s.masters[m].guarded == 1 || o.phase != over && o.phase != gone || holder >= 0 && holder != i {
		return
	}
	for j := range t.Owners {
		x := &s.seats[j][m]
		if !t.trying(s, j) || int(x.grants) == t.Grants {
			continue
		}
		from := s.masters[m].counter
		if t.PassToken {
			from = max(from, o.token)
		}
		if t.PassAbove {
			from++
		}
		t.eachProposal(s, m, from, func(counter uint8) {
			n := *s
			t.free(&n, m)
			n.masters[m].counter = counter
			y := &n.seats[j][m]
			y.has, y.pass = 1, counter
			y.grants++
			if t.from > 0 {
				y.from = o.token
			}
			do(step{actPass, i, m, j}, &n)
		})
	}
}
