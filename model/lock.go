package main

import "math/bits"

// The lock with time: who holds it, and for how long. This file has the state; the steps
// of the masters and of the owners are in lockmaster.go and lockowner.go.

// lockMaster is a master's own part of a state.
type lockMaster struct {
	age      uint8 // ticks since its start, up to the guard
	left     uint8 // of the lease, 0 when nobody has the lock
	diskLeft uint8 // the same on its disk, or its replica
}

// lockOwner is an owner's own part of a state.
type lockOwner struct {
	phase   phase
	asked   uint8 // ticks since the last ask was sent, up to a lease
	until   uint8 // ticks of validity left
	round   uint8 // 1 + ticks since the round of renewals was sent, 0 when none is under way
	renewed uint8 // 1: it sent a renewal, and masters may carry it out late
	haunted uint8 // 1: a release of the owner's life before may still be carried out
	past    uint8 // 1: another held the lock since the validity ended
}

// phase is what an owner does.
type phase = uint8

// An owner asks, holds and is gone. Until it asks, it does not exist; and when no master
// knows of it any more, its place is another's. A hold that is late ended, but its renewal
// is under way; there are none as long as RenewInTime is not broken.
const (
	absent phase = iota
	asking
	holding
	late
	gone
	raising // only where there are tokens
	over    // the same: it held, and has a token
)

// lockSeat is what there is between an owner and a master.
type lockSeat struct {
	has       uint8 // 1: the owner has the lock here
	diskHas   uint8 // 1: it has it on the disk
	vote      uint8 // ticks that a vote of this master is still valid
	granted   uint8 // 1: the answer to an acquire was not read yet
	waits     uint8 // 1: the answer that another has the lock was not read yet
	pass      uint8 // a message is under way: 1 + age of the ask that it names
	confirmed uint8 // 1: confirmed the round of renewals
	sent      uint8 // 1: the master was unguarded when the acquire was sent
}

// lockState is a state of the lock.
type lockState struct {
	masters [maxMasters]lockMaster
	owners  [maxOwners]lockOwner
	seats   [maxOwners][maxMasters]lockSeat
	crashes uint8
}

// lock is the protocol with some rules and bounds.
type lock struct {
	LockRules
	LockBounds
	quorum int
	guard  uint8 // ticks that a master is guarded
	valid  uint8 // ticks that a vote counts: the lease less the margin
	short  uint8 // the same for a pass
	shape  *shape

	// Bits of fields that not every case needs, 0 where it does not.
	ticks, crashes, disk, passed, granted, waits, sent, renewed, haunted, past int
}

func newLock(r LockRules, b LockBounds) *lock {
	l := &lock{LockRules: r, LockBounds: b, quorum: b.Masters/2 + 1}
	if !r.Quorum {
		l.quorum = b.Masters / 2
	}
	margin := b.Skew
	if !r.Margin {
		margin = 0
	}
	l.valid, l.short = uint8(b.Lease-margin), uint8(max(0, b.PassLease-margin))
	l.guard = uint8(max(b.Lease, b.PassLease) + b.Skew)
	if !r.GuardFull {
		l.guard--
	}
	l.fields()
	return l
}

// fields finds out which fields a state needs, and how many bits they have.
func (l *lock) fields() {
	use := func(used bool, width int) int {
		if used {
			return width
		}
		return 0
	}
	l.ticks = bits.Len8(l.guard + 1)
	l.crashes = bits.Len(uint(max(0, l.Crashes)))
	l.disk = use(l.Restarts&(restartOlder|restartReplica) != 0, 1)
	l.passed = use(l.InFlight || l.PassFrom != fromAsk || l.Owner == againWhenGone, bits.Len8(l.short+1))
	l.granted = use(!l.FromSend, 1)
	l.waits = use(l.PassFrom == fromAnswer, 1)
	l.sent = use(!l.GuardAtRun, 1)
	l.renewed = use(l.Renews, 1)
	l.haunted = use(l.Owner == againAtOnce, 1)
	l.past = use(!l.RenewInTime, 1)

	var owner, master, seat coder
	l.codeOwner(&owner, &lockOwner{})
	l.codeMaster(&master, &lockMaster{})
	l.codeSeat(&seat, &lockSeat{})
	l.shape = newShape(l.Owners, l.Masters, l.crashes, owner.at, master.at, seat.at)
}

func (l *lock) codeMaster(c *coder, x *lockMaster) {
	c.field(&x.age, l.ticks)
	c.field(&x.left, l.ticks)
	c.field(&x.diskLeft, l.ticks*l.disk)
}

func (l *lock) codeOwner(c *coder, x *lockOwner) {
	c.field(&x.phase, 3)
	c.field(&x.asked, l.ticks)
	c.field(&x.until, l.ticks)
	c.field(&x.round, l.ticks*l.renewed)
	c.field(&x.renewed, l.renewed)
	c.field(&x.haunted, l.haunted)
	c.field(&x.past, l.past)
}

func (l *lock) codeSeat(c *coder, x *lockSeat) {
	c.field(&x.has, 1)
	c.field(&x.diskHas, l.disk)
	c.field(&x.vote, l.ticks)
	c.field(&x.granted, l.granted)
	c.field(&x.waits, l.waits)
	c.field(&x.pass, l.passed)
	c.field(&x.confirmed, l.renewed)
	c.field(&x.sent, l.sent)
}

func (l *lock) pack(s *lockState) key {
	var g grid
	g.whole = uint64(s.crashes)
	for m := range l.Masters {
		var c coder
		l.codeMaster(&c, &s.masters[m])
		g.masters[m] = c.word
	}
	for i := range l.Owners {
		var c coder
		l.codeOwner(&c, &s.owners[i])
		g.owners[i] = c.word
		for m := range l.Masters {
			var c coder
			l.codeSeat(&c, &s.seats[i][m])
			g.seats[i][m] = c.word
		}
	}
	return l.shape.pack(&g)
}

func (l *lock) unpack(k key) (s lockState) {
	g := l.shape.unpack(k)
	s.crashes = uint8(g.whole)
	for m := range l.Masters {
		l.codeMaster(&coder{word: g.masters[m], reading: true}, &s.masters[m])
	}
	for i := range l.Owners {
		l.codeOwner(&coder{word: g.owners[i], reading: true}, &s.owners[i])
		for m := range l.Masters {
			l.codeSeat(&coder{word: g.seats[i][m], reading: true}, &s.seats[i][m])
		}
	}
	return s
}

func (l *lock) first() (s lockState) {
	for m := range l.Masters {
		s.masters[m].age = l.guard
	}
	return s
}

// wrong looks for what must not be.
func (l *lock) wrong(s *lockState) string {
	holders := 0
	for i := range l.Owners {
		o := &s.owners[i]
		if o.phase != holding {
			continue
		}
		holders++
		if o.past == 1 {
			return holdCameBack
		}
	}
	if holders > 1 {
		return twoHolders
	}
	return ""
}

// Violations of the lock.
const (
	twoHolders   = "two holders"
	holdCameBack = "a hold that had ended came back"
)
