package main

import "slices"

// What owners do.

// vote counts a vote of master m for owner i, valid for some ticks.
func (n *lockState) vote(i, m, ticks int) {
	x := &n.seats[i][m]
	x.vote = max(x.vote, uint8(max(0, ticks)))
}

// tickOwner is a tick for owner i.
func (l *lock) tickOwner(n *lockState, i int) {
	o := &n.owners[i]
	o.asked = min(o.asked+1, l.valid)
	for m := range l.Masters {
		x := &n.seats[i][m]
		if x.vote > 0 {
			x.vote--
		}
		if x.pass > 0 {
			x.pass = min(x.pass+1, 1+l.short)
		}
	}
	if o.round > 0 {
		if o.round++; o.round > l.valid {
			l.endRound(n, i)
		}
	}
	if o.until > 0 {
		o.until--
	}
	switch {
	case o.phase == holding && o.until == 0 && !l.RenewInTime && o.round > 0:
		o.phase = late
	case o.phase == holding && o.until == 0, o.phase == late && o.round == 0:
		l.end(n, i)
	}
}

// endRound is the end of a round of renewals.
func (l *lock) endRound(n *lockState, i int) {
	n.owners[i].round = 0
	for m := range l.Masters {
		n.seats[i][m].confirmed = 0
	}
}

// end is the end of a hold, or of asking: releases are sent. What masters have of the
// owner, and late commands of it, remain.
func (l *lock) end(n *lockState, i int) {
	o := &n.owners[i]
	*o = lockOwner{phase: gone, asked: l.valid, renewed: o.renewed}
	l.forget(n, i)
}

// forget is the end of counting votes.
func (l *lock) forget(n *lockState, i int) {
	for m := range l.Masters {
		x := &n.seats[i][m]
		*x = lockSeat{has: x.has, diskHas: x.diskHas, sent: x.sent, pass: x.pass}
		if l.Owner != againWhenGone {
			x.pass = 0
		}
	}
}

// eachOwner is what owner i may do by itself.
func (l *lock) eachOwner(s *lockState, i int, do func(step, *lockState)) {
	o := &s.owners[i]
	try := func(a action, change func(n *lockState)) {
		n := *s
		change(&n)
		if n != *s {
			do(step{action: a, owner: i}, &n)
		}
	}
	end := func(n *lockState) { l.end(n, i) }
	switch o.phase {
	case absent:
		try(actBegin, func(n *lockState) { l.begin(n, i) })
	case asking:
		if l.PassLease > 0 {
			try(actAskAgain, func(n *lockState) { l.askAgain(n, i) })
		}
		if until := l.term(s, i); until > 0 {
			try(actHold, func(n *lockState) { l.hold(n, i, until) })
		}
		try(actGiveUp, end)
	case holding, late:
		if l.Renews && o.phase == holding {
			try(actRenew, func(n *lockState) { l.renew(n, i) })
		}
		if o.round > 0 && l.confirmations(s, i) >= l.quorum {
			try(actExtend, func(n *lockState) { l.extend(n, i) })
		}
		try(actUnlock, end)
	case gone:
		known := l.known(s, i)
		if !known {
			// Commands of it that are still under way are lost from here on.
			try(actForgotten, func(n *lockState) {
				n.owners[i] = lockOwner{}
				n.seats[i] = [maxMasters]lockSeat{}
			})
		}
		if l.Owner == againAtOnce || l.Owner == againWhenGone && !known && o.renewed == 0 {
			try(actAgain, func(n *lockState) {
				l.begin(n, i)
				n.owners[i].renewed, n.owners[i].haunted = o.renewed, uint8(l.haunted)
			})
		}
	}
}

// begin is owner i's first ask.
func (l *lock) begin(n *lockState, i int) {
	n.owners[i] = lockOwner{phase: asking}
	for m := range l.Masters {
		if l.sent > 0 && !l.guarded(n, m) {
			n.seats[i][m].sent = 1
		}
	}
}

// askAgain sends the next ask of owner i.
func (l *lock) askAgain(n *lockState, i int) {
	n.owners[i].asked = 0
	if l.PassFrom == fromLastAsk {
		for m := range l.Masters {
			x := &n.seats[i][m]
			x.pass = min(x.pass, 1)
		}
	}
}

// read is owner i reading what master m said, as far as it matters when it does.
func (l *lock) read(s *lockState, i, m int, do func(step, *lockState)) {
	if s.owners[i].phase != asking {
		return
	}
	try := func(a action, change func(n *lockState, x *lockSeat)) {
		n := *s
		change(&n, &n.seats[i][m])
		if n != *s {
			do(step{action: a, owner: i, master: m}, &n)
		}
	}
	x := &s.seats[i][m]
	if x.granted == 1 {
		try(actReadGrant, func(n *lockState, x *lockSeat) {
			x.granted = 0
			n.vote(i, m, int(l.valid))
		})
	}
	if x.waits == 1 {
		try(actReadWaits, func(_ *lockState, x *lockSeat) {
			x.waits, x.pass = 0, min(x.pass, 1)
		})
	}
	if x.pass > 0 {
		try(actReadPass, func(n *lockState, x *lockSeat) {
			if l.PassFrom == fromReceipt {
				n.vote(i, m, int(l.short))
			} else {
				n.vote(i, m, int(l.short)-int(x.pass-1))
			}
		})
	}
}

// term returns for how long enough votes for owner i are valid at once, 0 if they are not.
func (l *lock) term(s *lockState, i int) uint8 {
	var votes [maxMasters]uint8
	for m := range l.Masters {
		votes[m] = s.seats[i][m].vote
	}
	slices.Sort(votes[:]) // the longest is the last
	until := votes[maxMasters-l.quorum]
	if until > 0 && !l.QthLongest {
		until = votes[maxMasters-1]
	}
	return until
}

// hold is the begin of owner i's hold.
func (l *lock) hold(n *lockState, i int, until uint8) {
	o := &n.owners[i]
	*o = lockOwner{phase: holding, asked: l.valid, until: until, renewed: o.renewed, haunted: o.haunted}
	l.forget(n, i)
	l.outlive(n, i)
}

// outlive notes that owner i holds the lock after holds that are late.
func (l *lock) outlive(n *lockState, i int) {
	for j := range l.Owners {
		if j != i && n.owners[j].phase == late {
			n.owners[j].past = 1
		}
	}
}

// renew sends a round of renewals of owner i.
func (l *lock) renew(n *lockState, i int) {
	l.endRound(n, i)
	n.owners[i].round, n.owners[i].renewed = 1, 1
}

func (l *lock) confirmations(s *lockState, i int) int {
	count := 0
	for m := range l.Masters {
		count += int(s.seats[i][m].confirmed)
	}
	return count
}

// extend counts the round of renewals of owner i, which enough masters confirmed.
func (l *lock) extend(n *lockState, i int) {
	o := &n.owners[i]
	until := l.valid - (o.round - 1)
	if !l.RenewFromSend {
		until = l.valid
	}
	o.phase, o.until = holding, max(o.until, until)
	l.endRound(n, i)
	l.outlive(n, i)
}

// known reports whether a master has owner i.
func (l *lock) known(s *lockState, i int) bool {
	for m := range l.Masters {
		if s.seats[i][m].has+s.seats[i][m].diskHas > 0 {
			return true
		}
	}
	return false
}
