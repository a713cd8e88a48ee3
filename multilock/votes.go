package multilock

import (
	"math/rand/v2"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
	"example.com/redlock/quorum"
)

// How a bid counts.
//
// A vote of a master is valid for a time. A grant is valid from when its command was
// sent. A pass is valid from when the ask was sent that it names: the master carried that
// out before it passed the lock, and no other moment that the client knows is surely
// earlier. It is not when the message came, nor when another ask was sent: a pass that is
// held up while its lease runs out would make two holders.
//
// A busy answer takes no vote away: it may be older than the vote, and a vote ends by
// itself.

// seat is what a bid knows of a master.
type seat struct {
	vote    clock.Instant // until when its vote is valid
	voted   bool
	passed  bool  // the vote is a pass
	token   int64 // the largest fencing counter that it answered to this owner
	open    int   // asks that are not answered
	reached bool  // it may have an entry in its queue, or a grant
}

// Answer implements [node.Receiver].
func (a *ask) Answer(i int, answer script.Answer) {
	b := a.b
	b.m.meet(i, b.want.Key, answer)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over || a.owner != b.owner {
		return // its release was sent after it
	}
	s := &b.seats[i]
	s.open--
	s.reached = s.reached || answer.Outcome != script.Unsent
	b.answers[i] = answer
	b.in |= 1 << i
	b.fresh |= 1 << i
	if a.polite && answer.Outcome == script.Done {
		b.askSoon(0) // it was passed on, and the message is late or lost: an ask confirms it
	} else if answer.Outcome == script.Done {
		b.vote(i, deadline(a.sent, b.want.Lease), answer.Token, false)
	}
	if !b.over && !a.partial && b.answered() {
		b.lost(a)
	}
}

// entered notes what became of the release that entered the ask into the queue of master i.
func (a *ask) entered(i int, o script.Outcome) {
	b := a.b
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over || a.owner != b.owner {
		return // its release was sent after it
	}
	b.seats[i].open--
	b.seats[i].reached = b.seats[i].reached || o != script.Unsent
}

// answered reports whether what was asked makes no majority. An answer to any ask of the owner
// counts, or callers whose masters are further away than their asks are apart would never know.
// b.mu is held.
func (b *Bid) answered() bool {
	yes, no := 0, 0
	for i := range b.seats {
		if b.seats[i].voted {
			yes++
		} else if b.fresh.has(i) {
			no++
		}
	}
	return quorum.Vote(len(b.seats), yes, no) == quorum.Lost
}

// lost decides what follows when what was asked makes no majority. It is called again with each
// answer that comes later; a is the ask that was answered. b.mu is held.
func (b *Bid) lost(a *ask) {
	b.told = true
	var left []time.Duration
	for i, a := range b.answers {
		switch {
		case !b.in.has(i):
		case a.Outcome == script.Done:
			left = append(left, 0)
		case a.Outcome == script.Refused:
			left = append(left, a.Left)
		}
	}
	free, known := quorum.FreeAfter(len(b.seats), left)
	if known && a.number == b.number { // or each answer that is late would bring another ask
		// Expiry sends no message. A lock may never expire, and more than that overflows.
		b.sooner(max(free, free+settle))
	}
	if a.number > b.stale {
		b.taken = time.Time{}
		if _, held := quorum.Holder(len(b.seats), b.holders()); held && known {
			b.taken = time.Now().Add(free)
		}
	}
	for _, holder := range b.holders() {
		if holder != "" && foreign(holder) && !b.watches {
			b.watches = true
			b.m.Listen()
			for _, n := range b.m.nodes {
				n.Watch(b.want.Key)
			}
		}
	}
	for i := range b.seats {
		if b.seats[i].voted && b.stuckAt.IsZero() {
			b.stuckAt = time.Now().Add(b.patience())
		}
	}
	b.signal()
	if b.hopeless() {
		b.rouse()
	}
}

// patience is how long a minority of votes is kept: longer than a majority takes, longer
// each time, and random, so that one of two owners that share the masters gives way.
func (b *Bid) patience() time.Duration {
	trip := b.m.RoundTrip()
	unit := stuck << min(b.rolls, 4)
	return trip + unit + rand.N(2*unit+trip)
}

// passed counts a pass from master i.
func (b *Bid) passed(i int, p script.HandOff) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over || p.Owner != b.owner.ID {
		return // its release was sent, and will free what was passed
	}
	b.read(i, p.Token)
	b.seats[i].reached = true
	until, ok := b.deadline(p)
	if !ok || clock.Until(until) <= 0 {
		b.askSoon(0) // too late to count: an ask confirms it
		return
	}
	b.passes = true
	b.vote(i, until, p.Token, true)
	if !b.over && b.stuckAt.IsZero() {
		b.stuckAt = time.Now().Add(b.patience())
		b.signal()
	}
}

// deadline returns until when a pass is a vote, and false if the ask that it names is not
// known any more. b.mu is held.
func (b *Bid) deadline(p script.HandOff) (clock.Instant, bool) {
	for _, a := range b.asks {
		if a.number == p.Round && a.owner.ID == p.Owner {
			return deadline(a.sent, a.lease), true
		}
	}
	return clock.Instant{}, false
}

// vote counts a vote of master i, and ends the bid when a majority is valid at the same
// time: until the q-th longest ends. b.mu is held.
func (b *Bid) vote(i int, until clock.Instant, token int64, passed bool) {
	b.read(i, token)
	s := &b.seats[i]
	if !s.voted || until.Sub(s.vote) > 0 {
		s.vote, s.voted, s.passed = until, true, passed
	}
	votes := 0
	for i := range b.seats {
		if b.seats[i].voted {
			votes++
		}
	}
	if quorum.Vote(len(b.seats), votes, 0) != quorum.Won {
		return
	}
	now := clock.Now()
	var room [Max]time.Duration
	left := room[:len(b.seats)]
	for i := range b.seats {
		if s := &b.seats[i]; s.voted {
			left[i] = now.Left(s.vote)
			s.voted = left[i] > 0
		}
	}
	if _, last := quorum.Term(left); last >= 0 {
		if b.seats[last].passed && left[last] < b.topUp() {
			b.askSoon(0) // it would end before it is renewed: an ask makes grants of the passes
			return
		}
		b.over = true
		b.grant = Grant{Claim: b.claim(), Until: b.seats[last].vote, Short: b.seats[last].passed}
		tokens, least := b.tokens(make([]int64, 0, 5))
		b.grant.Token, b.agreed = quorum.Agreed(len(b.seats), tokens, least)
		b.signal()
	}
}

// topUp returns how long a lock that was passed on must be valid for at least, so that its lease
// can be renewed to the one wanted, and once more if that fails; of a lease that is short itself,
// a quarter.
func (b *Bid) topUp() time.Duration { return min(2*b.m.RoundTrip()+2*TopUp, b.want.Lease/4) }

// tokens appends the largest counter that each master answered to this owner, if its vote is
// still valid: a master whose vote has ended may have restarted since, and have forgotten
// its counter. least is the largest of all that were read. b.mu is held.
func (b *Bid) tokens(to []int64) (tokens []int64, least int64) {
	for i := range b.seats {
		s := &b.seats[i]
		least = max(least, s.token)
		if s.voted {
			to = append(to, s.token)
		} else {
			to = append(to, 0)
		}
	}
	return to, least
}

// read notes a fencing counter of master i. b.mu is held.
func (b *Bid) read(i int, token int64) {
	b.token = max(b.token, token)
	b.seats[i].token = max(b.seats[i].token, token)
}
