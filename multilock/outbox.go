package multilock

import (
	"context"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
)

// outbox is what a driver has yet to send. The mutex of the driver guards it.
//
// Messages are sent in the order of the steps that want them: a step puts them in, and whoever has made the step unlocks
// the driver and flushes. One goroutine at a time sends, without holding the mutex, since a node may answer before its
// Send returns.
type outbox struct {
	messages []message
	sending  bool          // somebody sends what was in it, or has reserved it
	begun    bool          // the first of all messages was sent
	sent     chan struct{} // closed when something was; nil: nobody waits for that
}

// message is what is to be done when its turn comes.
type message struct {
	hold *Hold // that has ended, nil if none has: its entries are told first, and the client forgets it in the end
	cmd  *script.Command
	to   node.Receiver
	at   Set

	ahead    bool // the next in the client's line ask first, or one of them follows: see Masters.startNext
	unkept   bool // it was kept, and the client forgets that in the end
	gathered bool // it is written with what is sent next, or by Node.Flush
}

// postLocked puts a message into the outbox, for the next flush.
func (d *driver) postLocked(msg message) { d.out.messages = append(d.out.messages, msg) }

// busyLocked reports whether something is being sent, or waits for that: whoever put it there flushes.
func (d *driver) busyLocked() bool { return d.out.sending || len(d.out.messages) > 0 }

// flush sends what is in the outbox, unless another goroutine is sending. If a hold ends by that, the one that it was
// joined with ends next.
func (d *driver) flush() {
	if ended := d.sendAll(); ended != nil {
		ended.loseBound()
	}
}

// sendAll returns the hold that ended meanwhile, nil if none did.
func (d *driver) sendAll() (ended *Hold) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for !d.out.sending && len(d.out.messages) > 0 {
		messages := d.out.messages
		d.out.messages, d.out.sending = nil, true
		d.mu.Unlock()
		for i := range messages {
			if d.send(&messages[i]); messages[i].hold != nil {
				ended = messages[i].hold
			}
		}
		d.mu.Lock()
		d.out.sending, d.out.begun = false, true
		if clear(messages); d.out.messages == nil {
			d.out.messages = messages[:0]
		}
		d.wakeLocked()
	}
	return ended
}

// wakeLocked wakes whoever waits until something was sent.
func (d *driver) wakeLocked() {
	if d.out.sent != nil {
		close(d.out.sent)
		d.out.sent = nil
	}
}

// send does what is to be done for a message. At the end of a hold its entries are told before the release is sent, and
// the client forgets it after that.
func (d *driver) send(msg *message) {
	if msg.hold != nil {
		msg.hold.tell()
	}
	if msg.ahead && d.m.startNext(d.key, msg) {
		msg.cmd = nil // it was sent
	}
	if msg.cmd != nil {
		d.m.All.Deliver(msg.cmd, msg.at, msg.to, msg.gathered)
	}
	if msg.ahead { // those who ask first ask the other masters, too
		for i, n := range d.m.All.Nodes {
			if !msg.at.Has(i) {
				n.Flush()
			}
		}
	}
	if msg.unkept {
		d.m.unkeep(d)
	}
	if msg.hold != nil {
		d.m.reportEnd(msg.hold) // before Close may find that nothing is left
		d.m.over(msg.hold)
	}
}

// flushUntil is flush, and then waits until ready is true. ready is asked at once, and whenever something was sent, with
// the mutex held.
func (d *driver) flushUntil(ready func() bool) {
	d.flush()
	d.mu.Lock()
	defer d.mu.Unlock()
	for !ready() {
		if d.out.sent == nil {
			d.out.sent = make(chan struct{})
		}
		sent := d.out.sent
		d.mu.Unlock()
		<-sent
		d.mu.Lock()
	}
}

// flushFirst is flush, and waits until the driver's first message is sent, by whichever goroutine.
//
// A driver bids until its caller takes what it has won, so its own release may come here by startNext, while it is being
// sent. That is no deadlock: the first message is out by then. A driver that is given up earlier bids no more.
func (d *driver) flushFirst() {
	d.flushUntil(func() bool { return d.out.begun || !d.busyLocked() })
}

// drain is flush, and waits until all is sent, by whichever goroutine.
func (d *driver) drain() {
	d.flushUntil(func() bool { return !d.busyLocked() })
}

// reserve is drain, and holds up what is put into the outbox after that, until resume.
func (d *driver) reserve() {
	d.flushUntil(func() bool {
		if d.busyLocked() {
			return false
		}
		d.out.sending = true
		return true
	})
}

// resume undoes reserve, and sends what was put into the outbox meanwhile.
func (d *driver) resume() {
	d.mu.Lock()
	d.out.sending = false
	d.wakeLocked()
	d.mu.Unlock()
	d.flush()
}

// await is flush, and waits until r is settled. It returns the error of ctx if that ended first.
func (d *driver) await(ctx context.Context, r *round) (cut error) {
	d.mu.Lock()
	settled := r.settledLocked()
	d.mu.Unlock()
	d.flush()
	select {
	case <-settled:
		return nil
	case <-ctx.Done():
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if r.result == attempt.Pending {
		cut = poll.Ended(ctx)
	}
	return cut
}
