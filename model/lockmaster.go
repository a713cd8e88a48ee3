package main

// What happens at the masters. A command that was sent is carried out at any later moment,
// any number of times, or never: so it may be late, lost and doubled. Nothing has to be
// kept of a command but that it was sent. Of the asks of an owner the last one stands for
// all: an older one does the same on the master, and gives a vote that ends earlier.

// each implements [system].
func (l *lock) each(s *lockState, do func(step, *lockState)) {
	n := *s
	l.tick(&n)
	do(step{action: actTick}, &n)
	for m := range l.Masters {
		l.eachFault(s, m, do)
	}
	for i := range l.Owners {
		l.eachOwner(s, i, do)
		if s.owners[i].phase == absent {
			continue
		}
		for m := range l.Masters {
			l.acquire(s, i, m, do)
			l.renewAt(s, i, m, do)
			l.release(s, i, m, do)
			l.read(s, i, m, do)
		}
	}
}

// tick is the time going on by one, everywhere.
func (l *lock) tick(n *lockState) {
	for m := range l.Masters {
		x := &n.masters[m]
		x.age = min(x.age+1, l.guard)
		if x.left > 0 {
			if x.left--; x.left == 0 {
				l.free(n, m)
			}
		}
		if x.diskLeft > 0 {
			if x.diskLeft--; x.diskLeft == 0 {
				l.wipe(n, m)
			}
		}
	}
	for i := range l.Owners {
		l.tickOwner(n, i)
	}
}

// free takes the lock from whoever has it at master m.
func (l *lock) free(n *lockState, m int) {
	n.masters[m].left = 0
	for i := range l.Owners {
		n.seats[i][m].has = 0
	}
}

// give gives the lock of master m, which is free, to owner i.
func (l *lock) give(n *lockState, i, m, lease int) {
	n.masters[m].left = uint8(lease)
	n.seats[i][m].has = 1
}

// guarded reports whether master m grants no hold.
func (l *lock) guarded(s *lockState, m int) bool {
	return l.Guard && s.masters[m].age < l.guard
}

// eachFault is what masters suffer.
func (l *lock) eachFault(s *lockState, m int, do func(step, *lockState)) {
	if left := int(s.masters[m].left); left > 0 && left <= l.Skew {
		n := *s
		l.free(&n, m)
		do(step{action: actEndEarly, master: m}, &n)
	}
	if l.disk > 0 && l.mayMatter(s, m) {
		n := *s
		l.write(&n, m)
		if n != *s {
			do(step{action: actWrite, master: m}, &n)
		}
	}
	if l.Restarts == noRestart || l.Crashes > 0 && int(s.crashes) == l.Crashes {
		return
	}
	crash := func(kind restart, a action, change func(n *lockState)) {
		if l.Restarts&kind == 0 {
			return
		}
		n := *s
		change(&n)
		if n == *s {
			return
		}
		if l.Crashes > 0 {
			if n.crashes++; int(n.crashes) == l.Crashes {
				for m := range l.Masters {
					l.wipe(&n, m)
				}
			}
		}
		do(step{action: a, master: m}, &n)
	}
	crash(restartEmpty, actStartEmpty, func(n *lockState) {
		l.free(n, m)
		l.write(n, m)
		n.masters[m].age = 0
	})
	crash(restartSame, actStartSame, func(n *lockState) { n.masters[m].age = 0 })
	crash(restartOlder, actStartOlder, func(n *lockState) {
		l.restore(n, m)
		n.masters[m].age = 0
	})
	crash(restartReplica, actPromote, func(n *lockState) {
		l.restore(n, m)
		if l.GuardPromoted {
			n.masters[m].age = 0
		}
	})
}

// mayMatter reports whether it matters what master m has on its disk: where one master
// restarts once, one disk is enough to look at.
func (l *lock) mayMatter(s *lockState, m int) bool {
	if l.Crashes == anyNumber {
		return true
	}
	for k := range l.Masters {
		if k != m && l.Crashes == 1 && s.masters[k].diskLeft > 0 {
			return false
		}
	}
	return int(s.crashes) < l.Crashes
}

// wipe is the end of what master m has on its disk.
func (l *lock) wipe(n *lockState, m int) {
	n.masters[m].diskLeft = 0
	for i := range l.Owners {
		n.seats[i][m].diskHas = 0
	}
}

// write puts what master m has on its disk, or sends it to its replica.
func (l *lock) write(n *lockState, m int) {
	if l.disk == 0 {
		return
	}
	n.masters[m].diskLeft = n.masters[m].left
	for i := range l.Owners {
		n.seats[i][m].diskHas = n.seats[i][m].has
	}
}

// restore is write the other way.
func (l *lock) restore(n *lockState, m int) {
	n.masters[m].left = n.masters[m].diskLeft
	for i := range l.Owners {
		n.seats[i][m].has = n.seats[i][m].diskHas
	}
}

// acquire is acquire.lua: master m carries out an ask of owner i.
func (l *lock) acquire(s *lockState, i, m int, do func(step, *lockState)) {
	free, mine := s.masters[m].left == 0, s.seats[i][m].has == 1
	may := !l.guarded(s, m)
	if !l.GuardAtRun {
		may = s.seats[i][m].sent == 1
	}
	if free && may || mine {
		n := *s
		if free || l.GrantExtends {
			l.give(&n, i, m, max(int(s.masters[m].left), l.Lease))
		}
		if s.owners[i].phase == asking {
			if l.FromSend {
				n.vote(i, m, int(l.valid)-int(s.owners[i].asked))
			} else {
				n.seats[i][m].granted = 1
			}
		}
		if n != *s {
			do(step{action: actGrant, owner: i, master: m}, &n)
		}
	}
	if l.PassFrom == fromAnswer && !free && !mine && s.owners[i].phase == asking {
		n := *s
		n.seats[i][m].waits = 1
		if n != *s {
			do(step{action: actWait, owner: i, master: m}, &n)
		}
	}
	if free && may {
		l.passOn(s, i, m, do)
	}
}

// passOn is pass.lua, called in a script of owner i: master m, where the lock is free,
// passes it to somebody in its queue.
//
// There is no queue in a state, since anybody may be in it, and in any order: any ask may
// have been carried out before. The last one stands for all. The vote for a pass that
// names an older one ends earlier.
func (l *lock) passOn(s *lockState, i, m int, do func(step, *lockState)) {
	if l.PassLease == 0 {
		return
	}
	lease := l.PassLease
	if !l.PassFull {
		lease--
	}
	for j := range l.Owners {
		if j == i || s.owners[j].phase == absent {
			continue
		}
		n := *s
		l.give(&n, j, m, lease)
		o, x := &n.owners[j], &n.seats[j][m]
		switch {
		case l.passed == 0:
			// To read the message at once is the most that can come of it: later the vote
			// ends at the same moment, and never is a vote less.
			if o.phase == asking {
				n.vote(j, m, int(l.short)-int(o.asked))
			}
		case o.phase == asking || l.Owner == againWhenGone:
			if ask := 1 + min(o.asked, l.short); x.pass == 0 || x.pass > ask {
				x.pass = ask
			}
		}
		do(step{actPass, i, m, j}, &n)
	}
}

// renewAt is renew.lua: master m carries out a renewal of owner i.
func (l *lock) renewAt(s *lockState, i, m int, do func(step, *lockState)) {
	o := &s.owners[i]
	free, mine := s.masters[m].left == 0, s.seats[i][m].has == 1
	switch {
	case o.renewed == 0:
		return
	case mine:
	case free && l.Heals && !(l.guarded(s, m) && l.HealUnguarded):
	case !free && l.Heals && !l.HealFree:
	default:
		return
	}
	set := func(a action, lease int, counts bool) {
		n := *s
		l.free(&n, m)
		l.give(&n, i, m, lease)
		if counts {
			n.seats[i][m].confirmed = 1
		}
		if n != *s {
			do(step{action: a, owner: i, master: m}, &n)
		}
	}
	a := actConfirm
	if !mine {
		a = actHeal
	}
	left := 0
	if mine && l.NeverShorten {
		left = int(s.masters[m].left)
	}
	set(a, max(left, l.Lease), o.round > 0)
	if l.ShortLease > 0 {
		set(actConfirmShort, max(left, l.ShortLease), false)
	}
}

// release is release.lua: master m carries out a release of owner i.
func (l *lock) release(s *lockState, i, m int, do func(step, *lockState)) {
	o := &s.owners[i]
	if o.phase != gone && o.haunted == 0 {
		return
	}
	n := *s
	if n.seats[i][m].has == 1 {
		l.free(&n, m)
		// Who waits may be nobody who can be told: then it stays free.
		do(step{action: actFree, owner: i, master: m}, &n)
	}
	if n.masters[m].left == 0 && (!l.guarded(s, m) || !l.PassUnguarded) {
		l.passOn(&n, i, m, do)
	}
}
