package multilock

import (
	"math/rand/v2"
	"sync"
	"time"

	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
)

// contest drives a [protocol.Contender]: it turns answers, messages and timers into events, and
// effects into commands.
//
// Commands leave in the order of the steps that want them: a step appends to outbox, and whoever
// finds nobody flushing sends what is there, without holding mu, since a node may answer before its
// Send returns.
type contest struct {
	m       *Masters
	key     string
	line    string        // in which its caller stands, if it waits
	entries int           // hold count to set, of a lock that is entered again
	since   time.Time     // when its caller began to wait, by the masters' clocks; zero: it does not wait
	decided chan struct{} // told when it is won, or has failed, and of a slot also when it has to wait

	mu       sync.Mutex
	state    protocol.Contender
	owner    *script.Owner
	ballot   poll.Ballot         // the last answer of each master
	raises   *poll.Poll          // of the fencing counter, nil before the first
	split    *poll.MajorityError // why the last try was lost, while it is Paused
	timer    *time.Timer         // for what is due next, once something is
	watching bool                // Redisson's channel
	closing  bool                // it makes no further try
	gathered bool                // what it sends is left to Node.Flush
	slot     bool                // the lock is a slot of a semaphore
	trace    *contestTrace       // nil: it is not traced

	outbox   []message
	stock    *stock // to be told to the log by the next flush
	flushing bool
	idle     sync.Cond // told when flushing ends

	// Most locks are free, and need one round and one message: a Lock and an Unlock cost 27
	// allocations with this, and 29 without.
	firstRound   round
	firstMessage [1]message
}

// stock is what the last round came to: why is nil where enough masters answered.
type stock struct{ why *poll.MajorityError }

// newContest makes a contest for key, of a call with that trace. Its place in the queue is since, if it
// waits. It begins with start or enterBy.
func (m *Masters) newContest(key string, want protocol.Want, since time.Time, trace *callTrace) *contest {
	c := &contest{
		m:       m,
		since:   since,
		key:     key,
		line:    key,
		decided: make(chan struct{}, 1),
		state:   protocol.Contender{Want: want},
		ballot:  poll.Ballot{N: len(m.Nodes)},
		trace:   trace.contest(key),
	}
	semaphore, _ := script.SlotOf(key)
	if c.slot = semaphore != ""; c.slot {
		c.line = script.Slots(semaphore)
	}
	c.state.Want.Keep = m.keep > 0 && !want.Shared && !want.Again && !c.slot
	c.idle.L, c.outbox = &c.mu, c.firstMessage[:0]
	return c
}

// start asks all masters for the lock, unless the contest has begun.
//
// Cost: one script call on each master.
func (c *contest) start() { c.startIn(0) }

// startIn is start after a delay, in which a release may enter the contest into the queues instead.
func (c *contest) startIn(delay time.Duration) {
	c.mu.Lock()
	defer c.flush()
	if c.state.State != protocol.Idle {
		return // it was entered, or given up before it began
	}
	if c.owner == nil { // else it enters again, or was started with a delay
		c.owner = c.newOwnerLocked()
	}
	c.stepLocked(&protocol.Event{Kind: protocol.Start, Delay: delay})
}

// begun reports whether the contest has asked anybody, or is over.
func (c *contest) begun() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.State != protocol.Idle
}

// over reports whether the contest is over.
func (c *contest) over() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.state.Over()
}

// step passes ev to the contender, and sends what follows.
func (c *contest) step(ev *protocol.Event) {
	c.mu.Lock()
	c.stepLocked(ev)
	c.flush()
}

func (c *contest) stepLocked(ev *protocol.Event) {
	old := c.owner
	out := c.advanceLocked(ev)
	if out.NewOwner {
		c.owner = c.newOwnerLocked()
		if out.Release == 0 {
			c.m.owners.void(old.ID, c)
		}
	}
	next, entry := c.roundLocked(&out)
	if out.Release != 0 {
		c.giveBackLocked(&out, old, next, entry)
	}
	if out.Ask != 0 {
		c.postLocked(c.commandLocked(out.Command, entry), out.Ask, next)
	}
	if out.Raise != 0 {
		c.raiseLocked(&out)
	}
	if c.closing && c.state.State == protocol.Paused {
		c.stepLocked(&protocol.Event{Kind: protocol.GiveUp}) // nothing is left to release
	}
}

// advanceLocked passes ev to the contender. What that wants sent is left to the caller.
func (c *contest) advanceLocked(ev *protocol.Event) (out protocol.Effects) {
	now := c.m.now()
	ev.Trip, ev.Lot = c.m.RoundTrip(), rand.Uint32()
	if c.state.Want.Wait {
		ev.Told = ev.Kind != protocol.Answer && c.m.canBeTold() // nothing is asked at an answer
	}
	before := c.state.State
	c.state.Step(&c.m.conf, now, ev, &out)
	if w := c.m.Witness; w != nil {
		w.Stepped(&c.state, &c.m.conf, now, ev, &out)
	}
	if c.trace != nil {
		c.trace.steppedLocked(c, before, ev, &out)
	}
	if out.Stock {
		c.stock = new(stock)
		if out.Outage {
			c.stock.why = c.refusedLocked(nil)
		}
	}
	if at, ok := c.state.Wake(); ok {
		c.armLocked(now.Left(at))
	} else if c.timer != nil {
		c.timer.Stop()
	}
	switch c.state.State {
	case protocol.Won:
		c.tell()
	case protocol.Waiting:
		if c.slot && before == protocol.Asking {
			c.tell()
		}
	case protocol.Failed:
		if before != protocol.Failed && out.Release == 0 && c.owner != nil {
			c.m.owners.void(c.owner.ID, c)
		}
		c.unwatchLocked()
		c.tell()
	case protocol.Paused:
		if out.NewOwner {
			c.split = c.refusedLocked(nil)
		}
	}
	return out
}

// close keeps the contest from making another try: the client is closed.
func (c *contest) close() {
	c.mu.Lock()
	c.closing = true
	if c.state.State == protocol.Paused {
		c.stepLocked(&protocol.Event{Kind: protocol.GiveUp})
	}
	c.flush()
}

// tell wakes the caller.
func (c *contest) tell() {
	select {
	case c.decided <- struct{}{}:
	default:
	}
}

// armLocked sets the timer for what is due after d.
func (c *contest) armLocked(d time.Duration) {
	if c.timer != nil {
		c.timer.Reset(d)
		return
	}
	c.timer = time.AfterFunc(d, func() { c.step(&protocol.Event{Kind: protocol.Due}) })
	if c.state.Want.Wait {
		c.m.subscribe()
	}
}
