package multilock

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// Wanted says what a [Bid] is for.
type Wanted struct {
	Key   string
	Lease time.Duration // whole milliseconds
	Since clock.Instant // when the caller began to wait: its place in the queue

	Waiter Waiter // nil: nobody is told
}

// Times of a bid that waits, beside the round trips that come on top: masters may be far away.
//
// A lock is passed on for twice the time between two asks and two round trips, so that the ask
// which a pass names is never too old to count, and two renewals fit into what is left when the
// message arrives. A waiter that is dead or frozen when the lock is passed to it costs the others
// that lease; and the longer all have waited, the less it matters.
const (
	firstAsk = 200 * time.Millisecond // longest time until the second ask
	lastAsk  = 400 * time.Millisecond // longest time between two asks
	together = 50 * time.Millisecond  // asks fall on multiples of that, so that those of many names share a flush
	maxAsks  = 8                      // remembered; older ones are out of date
	stuck    = 4 * time.Millisecond   // unit of the time that a minority of votes is kept
	settle   = time.Millisecond       // after a hint that the lock is free: other masters give the same hint
	gather   = 20 * time.Millisecond  // after a subscription works: others will soon
)

// TopUp is how long a hold that was passed on may keep its short lease. A critical section that
// is shorter costs no renewal.
const TopUp = 20 * time.Millisecond

// Bid is a caller's attempt at a lock that goes on until it has the lock: it asks all
// masters at once, and where the lock is taken it waits in the queue of the masters, who
// pass the lock on. Each grant and each pass is a vote that is valid for a time.
//
// Source: docs/algorithm.md, "Waiting".
type Bid struct {
	m    *Masters
	want Wanted
	wake chan struct{} // told when there is something to look at, and no timer

	// sending is held while an ask is made and sent, so that what takes the ask back comes
	// after it. It is taken before mu.
	sending sync.Mutex

	mu      sync.Mutex
	owner   *script.Owner // a new one after each roll-back
	begun   time.Time
	since   time.Time // Wanted.Since by the masters' clocks; zero until they tell
	asks    []*ask    // the last ones, oldest first
	one     ask       // the first of them: most bids need no other
	room    [1]*ask   // for asks
	number  uint64    // of the last ask
	ballot            // the last answer of each master
	fresh   Set       // who has answered the owner
	seats   []seat    // for each master
	chairs  [5]seat   // room for seats
	token   int64     // the largest fencing counter that was read
	rolls   int       // roll-backs so far
	entered bool      // it entered the queue with a release
	told    bool      // it is known why it is not won: an ask was lost
	outage  outage    // what the caller is told while it waits
	passes  bool      // a vote was passed since the last ask, whose answers are out of date
	watches bool      // Redisson's channel
	taken   time.Time // until when one owner has a majority, by what the masters said last
	stale   uint64    // number of the last ask whose answers no longer tell that
	askAt   time.Time
	stuckAt time.Time   // when a minority of votes is given back; zero: there is none
	timer   *time.Timer // for the two, once the caller waits
	over    bool
	grant   Grant // if it was won
	agreed  bool  // on its fencing token
}

// ask is one command of a bid, to all masters.
type ask struct {
	b        *Bid
	owner    *script.Owner
	number   uint64
	since    time.Time // its place in the queue; zero: it does not enter it
	sent     clock.Instant
	lease    time.Duration // of a pass that names it
	proposal int64         // fencing token
	partial  bool          // sent to some masters only: its answers do not tell who has the lock
	polite   bool          // only to stay in the queue
}

// NewBid makes a bid. It begins with Ask, or by being named in [Masters.ReleaseTo].
func (m *Masters) NewBid(w Wanted) *Bid {
	b := &Bid{
		m:     m,
		want:  w,
		wake:  make(chan struct{}, 1),
		begun: time.Now(),
		owner: m.NewOwner(w.Key),
	}
	b.seats = slices.Grow(b.chairs[:0], len(m.nodes))[:len(m.nodes)]
	b.answers = make([]script.Answer, len(m.nodes))
	b.asks = b.room[:0]
	m.enrol(b.owner, b)
	return b
}

// Ask asks all masters for the lock.
//
// Cost: one script call on each master.
func (b *Bid) Ask() {
	b.sending.Lock()
	defer b.sending.Unlock()
	b.mu.Lock()
	a := b.newAsk(b.m.All())
	b.mu.Unlock()
	a.send(b.m.All())
}

// askAgain makes the next ask, and returns what sends it. b.mu is held.
func (b *Bid) askAgain() (send func()) {
	a := b.newAsk(b.m.All())
	return func() { a.send(b.m.All()) }
}

// newAsk makes the next ask, for send to send to the masters in at. b.mu is held.
func (b *Bid) newAsk(at Set) *ask {
	b.takeStock()
	b.number++
	now := time.Now()
	pause, lease := b.times(now)
	a := &b.one
	if b.number > 1 {
		a = new(ask)
	}
	polite := b.place() && now.Before(b.taken) && !b.passes && !b.votes()
	*a = ask{b: b, owner: b.owner, number: b.number, since: b.since, sent: clock.Now(), lease: lease, proposal: max(b.m.Now().UnixMicro(), b.token+1), polite: polite}
	if len(b.asks) == maxAsks {
		b.asks = b.asks[1:]
	}
	b.asks = append(b.asks, a)
	b.passes = false
	grid := max(1, min(together, pause/4))
	b.askAt = now.Add(pause - time.Duration(now.UnixNano())%grid)
	for i := range b.seats {
		if at.has(i) {
			b.seats[i].open++
		}
	}
	return a
}

// times returns how long to wait for the answers and messages to an ask until the next, and the
// lease for which the lock may be passed on in answer to it: never longer than the one that is
// wanted, since a guard covers no more.
func (b *Bid) times(now time.Time) (pause, lease time.Duration) {
	trip := b.m.RoundTrip()
	pause = min(min(max(firstAsk, now.Sub(b.begun)/2), lastAsk)+trip, b.want.Lease/2)
	lease = min(2*(pause+trip), b.want.Lease)
	return pause.Truncate(time.Millisecond), lease.Truncate(time.Millisecond)
}

// send sends a to the masters in at. A node may answer before send returns.
func (a *ask) send(at Set) {
	switch {
	case a.polite:
		a.b.m.send(a.owner.Register(a.entry()), at, a)
	case a.since.IsZero():
		a.b.m.send(a.owner.Acquire(a.b.want.Lease, a.proposal), at, a)
	default:
		a.b.m.send(a.owner.AcquireOrRegister(a.b.want.Lease, a.entry()), at, a)
	}
}

// entry returns a as the masters see it.
func (a *ask) entry() script.QueueEntry {
	return script.QueueEntry{Round: a.number, Since: a.since.UnixMicro(), Lease: a.lease, Proposal: a.proposal}
}

// place reports whether the bid has a place in the queue. It has none before the masters'
// clocks are known: one by our own might be before everybody, or after, for as long as it
// waits. b.mu is held.
func (b *Bid) place() bool {
	if b.since.IsZero() {
		b.since = b.m.stamp(b.want.Since)
	}
	return !b.since.IsZero()
}

// Wait waits until the bid is won. It is false when ctx ended first, when there was
// something to receive from enter or done, and when Failure is hopeless. GiveUp must follow
// then, or another Wait.
func (b *Bid) Wait(ctx context.Context, enter, done <-chan struct{}) (Grant, bool) {
	for {
		// As long as the first ask may make a majority, there is nothing to time.
		var due <-chan time.Time
		b.mu.Lock()
		if b.timer != nil {
			due = b.timer.C
		}
		b.mu.Unlock()
		select {
		case <-b.wake:
		case <-due:
		case <-enter:
			return b.result()
		case <-done:
			return b.result()
		case <-ctx.Done():
			return b.result()
		}
		if b.look() && (b.settle(ctx) || ctx.Err() != nil) || b.inVain() {
			return b.result()
		}
	}
}

// look does what is due, and is true when the bid is won.
func (b *Bid) look() (won bool) {
	b.sending.Lock()
	defer b.sending.Unlock()
	b.mu.Lock()
	if b.over && b.valid() {
		b.mu.Unlock()
		return true
	}
	send := func() {} // once b.mu is free
	now := time.Now()
	switch {
	case b.over: // the caller slept through what it won
		b.over, b.grant = false, Grant{}
		send = b.giveWay()
	case !b.stuckAt.IsZero() && !now.Before(b.stuckAt):
		send = b.unstick()
	case !now.Before(b.askAt):
		send = b.askAgain()
	}
	first := b.timer == nil
	if first {
		b.timer = time.NewTimer(b.next())
	} else {
		b.timer.Reset(b.next())
	}
	b.mu.Unlock()
	if first {
		b.m.Listen()
	}
	send()
	return false
}

// valid reports whether there is validity left of what was won. b.mu is held.
func (b *Bid) valid() bool { return clock.Until(b.grant.Until) > 0 }

// result returns what has become of the bid so far, and ends what helped to wait.
func (b *Bid) result() (Grant, bool) {
	b.sending.Lock() // a release of what was won comes after all asks
	defer b.sending.Unlock()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.unwatch()
	if b.over && !b.valid() {
		b.signal() // the next Wait gives way
	}
	if !b.over || !b.agreed || !b.valid() {
		return Grant{}, false
	}
	if b.timer != nil {
		b.timer.Stop()
	}
	b.asks, b.answers = nil, nil // it may be held for long
	return b.grant, true
}

// unwatch is the end of interest in Redisson's channel. b.mu is held.
func (b *Bid) unwatch() {
	if !b.watches {
		return
	}
	b.watches = false
	for _, n := range b.m.nodes {
		n.Unwatch(b.want.Key)
	}
}

// soon asks again after d at the latest, and some random time more: there is a reason to.
func (b *Bid) soon(d time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.over {
		b.askSoon(d + rand.N(d))
	}
}

// askSoon asks again after d at the latest, whatever the masters said so far. b.mu is held.
func (b *Bid) askSoon(d time.Duration) {
	b.taken, b.stale = time.Time{}, b.number
	b.sooner(d)
	b.signal()
}

// sooner makes the next ask d from now at the latest. b.mu is held.
func (b *Bid) sooner(d time.Duration) {
	if at := time.Now().Add(max(d, settle)); at.Before(b.askAt) {
		b.askAt = at
	}
}

// signal wakes the waiting caller, or only sets its timer where that is enough. b.mu is
// held.
func (b *Bid) signal() {
	if b.timer != nil && !b.over {
		b.timer.Reset(b.next())
		return
	}
	b.rouse()
}

// rouse wakes the waiting caller.
func (b *Bid) rouse() {
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// next returns how long to wait until there is something to do. b.mu is held.
func (b *Bid) next() time.Duration {
	at := b.askAt
	if !b.stuckAt.IsZero() && b.stuckAt.Before(at) {
		at = b.stuckAt
	}
	return time.Until(at)
}

// Failure returns why the bid has not been won, by what each master said last, nil if
// that is not known or it was. cut is the context error of a wait that was cut short; with it,
// masters that have not answered are a reason.
func (b *Bid) Failure(cut error) *MajorityError {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answers == nil || !b.told && (cut == nil || b.entered) {
		return nil
	}
	return b.m.refused(b.want.Key, &b.ballot, cut)
}
