package multilock

import (
	"math/rand/v2"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
)

// driver drives an [attempt.Attempt]: it turns what happens into events, and what they come to into commands.
//
// The way of a lock: Masters.Lock makes a driver, and start asks. stepLocked passes an event to the attempt, roundLocked
// makes a command of the round that it wants sent, and flush sends that. A round takes the answers, each of which is the
// next event. When the attempt is held, take makes a [Hold] of it for its caller. Unlock is another event, and the release
// another round. The driver ends when that is answered; if the client keeps the lock, another caller may take it over.
//
// Commands are sent in the order of the steps that want them, see [outbox]: whoever makes a step unlocks mu and flushes.
type driver struct {
	m       *Masters
	key     string
	since   int64         // when its caller began to wait, by the masters' clocks, in µs; 0: it does not wait
	decided chan struct{} // told when it is held, or has ended, and of a slot also when it has to wait; nil once somebody has it

	mu    sync.Mutex
	state attempt.Attempt
	owner *script.Owner
	hold  *Hold // that its caller has, or the last one had; nil before the first

	ballot  poll.Ballot   // the last answer of each master that was asked for the lock
	raise   *round        // of the fencing counter, the last one; nil before the first
	count   *round        // that sets the hold count, nil if none is under way
	renewal renewal       // the watchdog's
	trace   *attemptTrace // nil: it is not traced
	freedAt Set           // masters that told that the lock is free, since a majority did last

	timer *time.Timer   // for what is due next, once something is
	wakes clock.Instant // when it fires, if it is armed

	out outbox

	slot     int // of a semaphore, which the lock is; -1: it is none
	armed    bool
	watching bool // Redisson's channel

	// Most locks are free, and need no more than this.
	first        Hold
	firstMessage [1]message       // in the outbox
	firstEntry   [1]attempt.Entry // its caller's, which is not yet in the attempt before start
	firstRounds  [2]attempt.Round
	masters      [5]attempt.Master
}

// newDriver makes a driver for key, as req wants it. If it waits, its place in the queue is since. told is notified of
// what becomes of it.
func (m *Masters) newDriver(key string, req *Request, since time.Time, told chan struct{}) *driver {
	d := &driver{
		m: m, key: key, since: micros(since), decided: told,
		ballot: poll.Ballot{N: len(m.All.Nodes)}, renewal: renewal{index: unscheduled},
	}
	if req.trace != nil {
		d.trace = &attemptTrace{call: req.trace, ahead: -1}
	}
	_, d.slot = script.SlotOf(key)
	d.state.Want = attempt.Want{
		Lease: req.Lease, Wait: !since.IsZero(), Shared: req.Shared, Keep: m.conf.Keep > 0 && !req.Shared && d.slot < 0,
	}
	d.firstEntry[0] = attempt.Entry{Key: req.Entry, Wish: req.wish()}
	d.state.Entries, d.state.Masters = d.firstEntry[:0], d.masters[:min(len(d.masters), len(m.All.Nodes))]
	if len(m.All.Nodes) > len(d.masters) {
		d.state.Masters = make([]attempt.Master, len(m.All.Nodes))
	}
	d.state.Rounds, d.out.messages = d.firstRounds[:], d.firstMessage[:0]
	return d
}

// start asks all masters for the lock, unless it was done before or given up.
//
// Cost: one script call on each master.
func (d *driver) start() {
	d.mu.Lock()
	d.startLocked()
	d.mu.Unlock()
	d.flush()
}

func (d *driver) startLocked() {
	if d.state.State == attempt.Idle {
		d.beginLocked(new(attempt.Event))
	}
}

// beginLocked has the attempt start by ev.
func (d *driver) beginLocked(ev *attempt.Event) *round {
	d.owner = d.newOwnerLocked()
	caller := &d.firstEntry[0]
	ev.Kind, ev.Key, ev.Wish = attempt.Start, caller.Key, caller.Wish
	return d.stepLocked(ev)
}

// follow sends a release of its client, which enters the caller into the queues of all masters. It does nothing, and is
// false, if the caller was started before, or given up.
//
// Cost: one script call on each master, which the release costs anyway.
func (d *driver) follow(release *message) bool {
	d.mu.Lock()
	if d.state.State != attempt.Idle {
		d.mu.Unlock()
		return false
	}
	ended, ev := release.to.(*round), attempt.Event{Follow: true}
	ended.next = d.beginLocked(&ev)
	entry := d.entryLocked(d.lastLocked())
	// Here, so that it goes before whatever is sent for the caller.
	d.postLocked(message{cmd: release.cmd.Entering(d.owner, entry), at: release.at, to: ended})
	d.mu.Unlock()
	d.flushFirst()
	return true
}

// startIn is start after a delay, unless somebody else starts it.
func (d *driver) startIn(delay time.Duration) {
	if delay <= 0 {
		d.start()
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state.State == attempt.Idle && d.timer == nil {
		d.timer = time.AfterFunc(delay, d.fire)
	}
}

// startAhead is start, but the round is only written with what is sent next, or by Node.Flush. If another goroutine is
// starting d, startAhead waits until the first round is sent.
func (d *driver) startAhead() {
	d.mu.Lock()
	before := len(d.out.messages)
	d.startLocked()
	for i := before; i < len(d.out.messages); i++ {
		d.out.messages[i].gathered = true
	}
	d.mu.Unlock()
	d.flushFirst()
}

// step passes ev to the attempt, and sends what follows.
func (d *driver) step(ev *attempt.Event) {
	d.mu.Lock()
	d.stepLocked(ev)
	d.mu.Unlock()
	d.flush()
}

// stepLocked passes ev to the attempt. It returns the round that follows, if any: flush sends it.
func (d *driver) stepLocked(ev *attempt.Event) *round { return d.advanceLocked(ev, nil, nil) }

// advanceLocked is stepLocked for an event that is an answer to the round of, or that ends the hold for the cause why.
func (d *driver) advanceLocked(ev *attempt.Event, of *round, why error) (sent *round) {
	now := d.m.now()
	ev.Trip, ev.Lot, ev.Told = d.m.All.RoundTrip(), rand.Uint32(), d.m.canBeTold()
	before, old := d.state.State, d.owner
	var out attempt.Effects
	d.state.Step(&d.m.conf, now, ev, &out)
	if d.trace != nil {
		d.trace.steppedLocked(d, before, ev, &out)
	}
	if of != nil && out.Settled == of.number && out.Result != attempt.Pending {
		d.settleLocked(of, out.Result)
		if of.err != nil {
			why = of.err
		}
	}
	if out.NewOwner {
		d.owner = d.newOwnerLocked()
	}
	end := message{}
	if before == attempt.Held && d.state.State != attempt.Held && d.hold != nil {
		d.endLocked(ev, why)
		end.hold = d.hold
	}
	if before == attempt.Kept && d.state.State == attempt.Ended {
		end.unkept = true
	}
	if out.Send != 0 {
		sent = d.roundLocked(&out, end)
	} else if end.hold != nil || end.unkept {
		d.postLocked(end)
	}
	if out.NewOwner {
		d.releaseLocked(old, &out)
	}
	asks := out.Send != 0 && out.Round.Command.Asks()
	if again := before == attempt.Waiting || before == attempt.Minority; asks && again && !out.NewOwner {
		var outage *poll.MajorityError // all answers to the last round that come soon are in by now
		if d.ballot.Unreachable() {
			outage = d.refusedLocked(nil)
		}
		d.m.report(lineOf(d.key), outage)
	}
	if d.state.State != before {
		d.changedLocked(before, &out)
	}
	if d.state.Due || before == attempt.Held {
		d.m.watchdog.schedule(d)
	}
	d.armLocked(now)
	return sent
}

// changedLocked does what follows another state.
func (d *driver) changedLocked(before attempt.State, out *attempt.Effects) {
	switch d.state.State {
	case attempt.Waiting, attempt.Minority:
		if d.state.Want.Wait {
			d.m.subscribe()
		}
		if d.slot >= 0 && before == attempt.Asking {
			poke(d.decided)
		}
	case attempt.Held:
		if before != attempt.Kept {
			d.unwatchLocked()
			poke(d.decided)
		}
	case attempt.Ended:
		if out.Send == 0 && d.owner != nil {
			d.m.owners.forget(d.owner.ID)
		}
		d.unwatchLocked()
		poke(d.decided)
	}
}

// poke tells whoever receives from c, which has room for one: unless it was told already, or c is nil.
func poke(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// armLocked sets the timer for what is due next. Since each renewal moves the end of a hold, the timer of a hold is not
// moved with it: when it fires, it is set anew.
func (d *driver) armLocked(now clock.Instant) {
	at, ok := d.state.Wake()
	switch {
	case d.state.State == attempt.Idle: // startIn has set it
	case !ok && d.timer != nil:
		d.timer.Stop()
		d.armed = false
	case !ok, d.armed && at == d.wakes:
	case d.armed && d.state.State == attempt.Held && at.Sub(d.wakes) > 0:
	case d.timer == nil:
		d.armed, d.wakes = true, at
		d.timer = time.AfterFunc(now.Left(at), d.fire)
	default:
		d.armed, d.wakes = true, at
		d.timer.Reset(now.Left(at))
	}
}

// fire does what is due. What is kept when the client is closed is left to Close.
func (d *driver) fire() {
	if d.m.All.Begin() {
		defer d.m.All.End()
	} else if d.is(attempt.Kept) {
		return
	}
	d.wake()
}

// wake is fire for callers that are an operation under way, see [poll.Masters.Begin].
func (d *driver) wake() {
	d.mu.Lock()
	d.armed = false // its time may have stood still
	if d.state.State == attempt.Idle {
		d.startLocked()
	} else {
		d.stepLocked(&attempt.Event{Kind: attempt.Due})
	}
	d.mu.Unlock()
	d.flush()
}

// is reports whether it is in a state.
func (d *driver) is(s attempt.State) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.state.State == s
}

// giveUp gives up what is not held yet: it leaves the queue and gives back its votes, after the next callers in the line
// have been entered. It returns once all is sent, and does not wait for answers.
//
// Cost: one script call on each master.
func (d *driver) giveUp() {
	d.mu.Lock()
	d.stepLocked(&attempt.Event{Kind: attempt.Leave, Key: d.firstEntry[0].Key}) // which its start writes
	d.mu.Unlock()
	d.drain()
}
