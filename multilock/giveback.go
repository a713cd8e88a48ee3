package multilock

import (
	"slices"
	"time"

	"example.com/redlock/quorum"
)

// How a bid gives back what it has: a minority of votes, or all when it is given up.

// unstick decides what becomes of a minority of votes, and returns what sends that. b.mu is
// held.
func (b *Bid) unstick() (send func()) {
	b.stuckAt = time.Time{}
	if b.passes {
		// What the masters said before tells nothing of those that have not passed.
		return b.askAgain()
	}
	if _, held := quorum.Holder(len(b.seats), b.holders()); held {
		// Nobody else can win, and the holder may need the votes that we have to heal. So
		// give them back to nobody, and wait without taking any.
		old := b.again()
		return func() { b.m.release(old.Yield(old.since()), old, 0, nil) }
	}
	return b.giveWay()
}

// giveWay makes the bid begin anew after a roll-back, and returns what sends that: it gives
// back what the bid has, and enters the queue again. b.mu is held.
func (b *Bid) giveWay() (send func()) {
	b.rolls++
	old := b.again()
	return func() { b.m.releaseTo(old, b) }
}

// votes reports whether there are any. b.mu is held.
func (b *Bid) votes() bool {
	return slices.ContainsFunc(b.seats, func(s seat) bool { return s.voted })
}

// again makes the bid begin anew, as a new owner at the old place in the queue, and returns
// the claim of the old one to give back. An owner is never used again, so that release
// frees nothing but what it should. b.mu is held.
func (b *Bid) again() Claim {
	old := b.rest()
	b.owner = b.m.NewOwner(b.want.Key)
	clear(b.seats)
	b.fresh, b.stuckAt = 0, time.Time{}
	b.m.enrol(b.owner, b)
	// Where the lock was free, nobody passes it: look again soon.
	b.sooner(b.patience())
	return old
}

// GiveUp ends a bid that was not won: it leaves the queue and gives back what votes it
// has, in the background. next, if there is one, enters the queue in the same script call.
//
// Cost: one script call on each master.
func (b *Bid) GiveUp(next *Bid) {
	b.sending.Lock()
	b.mu.Lock()
	b.over = true
	b.unwatch()
	if b.timer != nil {
		b.timer.Stop()
	}
	claim := b.rest()
	b.mu.Unlock()
	b.sending.Unlock()
	if next != nil {
		b.m.ReleaseTo(claim, next)
	} else {
		b.m.Release(claim, 0)
	}
}

// claim returns what the owner may have at the masters. b.mu is held.
func (b *Bid) claim() Claim {
	c := Claim{Owner: b.owner, Token: b.token, Since: b.since}
	for i := range b.seats {
		if b.seats[i].reached || b.seats[i].open > 0 {
			c.At |= 1 << i
		}
	}
	return c
}

// rest is the claim of a bid that was not won. Its token is at least what was proposed, so
// that the next one is above. b.mu is held.
func (b *Bid) rest() Claim {
	c := b.claim()
	c.Token = max(c.Token, b.m.Now().UnixMicro())
	return c
}
