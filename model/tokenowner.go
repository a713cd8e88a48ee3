package main

// What owners do for their token.

// trying reports whether owner i wants the lock, and has not got it.
func (t *token) trying(s *tokenState, i int) bool {
	return s.owners[i].phase == asking || s.owners[i].phase == raising
}

// answer is owner i reading that it has the lock of master m, and the counter there.
func (t *token) answer(n *tokenState, i, m int, counter uint8) {
	if !t.trying(n, i) {
		return
	}
	o, x := &n.owners[i], &n.seats[i][m]
	o.read = max(o.read, counter)
	x.valid = uint8(t.leases)
	if o.phase == asking {
		x.answer = counter
	} else if counter == o.raiseTo[o.rounds-1] {
		x.agreed = 1
	}
}

// read is owner i reading a message of master m.
func (t *token) read(s *tokenState, i, m int, do func(step, *tokenState)) {
	x := &s.seats[i][m]
	if x.pass == 0 || !t.trying(s, i) {
		return
	}
	n := *s
	y := &n.seats[i][m]
	n.owners[i].floor = max(n.owners[i].floor, x.from)
	y.pass, y.from = 0, 0
	t.answer(&n, i, m, x.pass)
	do(step{action: actReadPass, owner: i, master: m}, &n)
}

// votes returns how many masters' votes owner i counts.
func (t *token) votes(s *tokenState, i int) int {
	count := 0
	for m := range t.Masters {
		x := &s.seats[i][m]
		if t.Leases && x.valid == 1 || !t.Leases && x.answer > 0 {
			count++
		}
	}
	return count
}

// eachOwner is what owner i may do by itself.
func (t *token) eachOwner(s *tokenState, i int, do func(step, *tokenState)) {
	o := &s.owners[i]
	try := func(a action, change func(n *tokenState)) {
		n := *s
		change(&n)
		if n != *s {
			do(step{action: a, owner: i}, &n)
		}
	}
	switch o.phase {
	case absent:
		try(actBegin, func(n *tokenState) { t.begin(n, i) })
	case asking:
		if t.votes(s, i) >= t.quorum {
			t.choose(s, i, try)
		}
		try(actGiveUp, func(n *tokenState) { t.end(n, i, gone) })
	case raising:
		to := o.raiseTo[o.rounds-1]
		agreed := t.agreement(s, i, func(x *tokenSeat) bool { return x.agreed == 1 })
		if agreed && (o.read <= to || !t.AboveRead) {
			try(actHold, func(n *tokenState) { t.hold(n, i, to) })
		}
		if int(o.rounds) < t.Rounds {
			// One more, not for safety: where the counter is equal a master refuses.
			try(actRaiseAgain, func(n *tokenState) { t.sendRaise(n, i, max(o.read, to)+1) })
		}
		try(actGiveUp, func(n *tokenState) { t.end(n, i, gone) })
	case holding:
		try(actUnlock, func(n *tokenState) { t.end(n, i, over) })
	}
}

// agreement reports whether owner i has the votes of q masters, and as many that agree on
// the token.
func (t *token) agreement(s *tokenState, i int, agrees func(*tokenSeat) bool) bool {
	agreed, votes := 0, 0
	for m := range t.Masters {
		x := &s.seats[i][m]
		counted := !t.Leases || x.valid == 1
		if counted {
			votes++
		}
		if agrees(x) && (counted || !t.Together) {
			agreed++
		}
	}
	return agreed >= t.quorum && votes >= t.quorum
}

func (t *token) highestToken(s *tokenState) uint8 {
	highest := uint8(0)
	for i := range t.Owners {
		highest = max(highest, s.owners[i].token)
	}
	return highest
}

// begin is the begin of owner i.
func (t *token) begin(n *tokenState, i int) {
	n.owners[i].phase = asking
	if !t.Leases {
		// Where leases mean nothing, holds have no order but that one began before the
		// other's first ask.
		n.owners[i].floor = t.highestToken(n)
	}
}

// choose looks for the token in the answers to owner i: the largest, if q masters have
// answered it. Else it is to become that of q masters by raising them.
func (t *token) choose(s *tokenState, i int, try func(action, func(*tokenState))) {
	number := s.owners[i].read
	if !t.AboveRead {
		number = t.common(s, i)
	}
	same := func(x *tokenSeat) bool { return x.answer == number }
	if t.agreement(s, i, same) || !t.RaiseRound {
		try(actHold, func(n *tokenState) { t.hold(n, i, number) })
	} else if t.Rounds > 0 {
		try(actRaiseFirst, func(n *tokenState) {
			t.sendRaise(n, i, number)
			for m := range t.Masters {
				if same(&s.seats[i][m]) {
					n.seats[i][m].agreed = 1
				}
			}
		})
	}
}

// common returns the number that q masters answered to owner i, else the largest.
func (t *token) common(s *tokenState, i int) uint8 {
	largest := uint8(0)
	for m := range t.Masters {
		number := s.seats[i][m].answer
		same := 0
		for k := range t.Masters {
			if number > 0 && s.seats[i][k].answer == number {
				same++
			}
		}
		if same >= t.quorum {
			return number
		}
		largest = max(largest, number)
	}
	return largest
}

// sendRaise sends a round of raising of owner i.
func (t *token) sendRaise(n *tokenState, i int, to uint8) {
	o := &n.owners[i]
	o.phase = raising
	o.raiseTo[o.rounds] = to
	o.rounds++
	for m := range t.Masters {
		x := &n.seats[i][m]
		x.answer = 0
		if t.RaiseThisRound {
			x.agreed = 0
		}
	}
}

// hold is the begin of owner i's hold.
func (t *token) hold(n *tokenState, i int, number uint8) {
	if t.Leases {
		n.owners[i].floor = t.highestToken(n)
	}
	n.owners[i].token = number
	t.end(n, i, holding)
}

// end ends what owner i did before phase.
func (t *token) end(n *tokenState, i int, next phase) {
	o := &n.owners[i]
	o.phase, o.read = next, 0
	for m := range t.Masters {
		x := &n.seats[i][m]
		x.answer, x.agreed, x.pass, x.from = 0, 0, 0, 0
		if next != holding {
			x.valid, x.old = 0, min(x.old, x.has)
		}
	}
}
