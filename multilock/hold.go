package multilock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node/script"
)

// Entry is one of those that share a hold, which its owner entered once for each. Ended is called
// once, when the entry has ended, before the lock is given back. It must not block. Context returns the caller's,
// for what is logged of its hold.
type Entry interface {
	Ended(cause error)
	Context() context.Context
}

// Hold is a lock that this client has. It drives a [protocol.Hold].
type Hold struct {
	m     *Masters
	key   string
	owner any           // who may enter it again
	entry Entry         // the first, whose context the log gets
	id    string        // of the owner that the masters know
	limit time.Duration // of the time that it is renewed; 0: none
	visit visit         // the watchdog's

	sending *contest // see Grant
	kept    *kept    // see Grant

	mu      sync.Mutex
	claim   Claim // changes with a downgrade
	token   int64 // the fencing token, at most that of the claim
	state   protocol.Entries[Entry]
	first   [1]protocol.Entry[Entry] // few holds have more, which saves an allocation
	why     *poll.MajorityError      // of the last renewal, if it failed
	bound   *Hold                    // is lost when this one is; nil: see Join
	cause   error                    // why it has ended, nil while it has not
	endedAt time.Time
	timer   *time.Timer   // fires when validity ends
	gone    bool          // its release is on the way, or it is kept
	over    chan struct{} // closed then, nil if nobody waits for it
}

// newHold makes a hold of what was won, and lets the callers that share its owner enter it.
func (m *Masters) newHold(req Request, g Grant) *Hold {
	h := &Hold{
		m: m, key: req.Key, owner: req.Owner, entry: req.Entry, claim: g.Claim, token: g.First, id: g.ID, limit: req.Limit,
		visit: visit{index: unscheduled}, sending: g.sending, kept: g.kept,
	}
	h.claim.trace = req.trace.hold()
	if h.owner == nil {
		h.owner = req.Entry
	}
	h.state.List = h.first[:0]
	h.mu.Lock()
	h.entryLocked(req.Entry, protocol.HoldEvent{
		Kind: protocol.HoldWon, Until: g.Until, At: g.At, Short: g.Short, Shared: g.Mode == script.Shared,
		Wish: m.wish(&req),
	})
	if k := h.kept; k != nil {
		k.hold.Store(h)
		h.timer = k.timer
		h.timer.Reset(m.left(g.Until))
	} else {
		h.timer = time.AfterFunc(m.left(g.Until), h.expire)
	}
	if req.trace != nil {
		req.trace.won(h)
	}
	before := m.adopt(h)
	h.mu.Unlock()
	if before != nil {
		_ = before.Check() // its validity may be over, and its timer has yet to say so
	}
	if at := m.owners.doubted(h.id); at != 0 { // before it was one of the client's holds
		h.step(protocol.HoldEvent{Kind: protocol.HoldDoubt, At: at}, nil)
	}
	return h
}

// stepLocked is entryLocked with an event that is not about an entry.
func (h *Hold) stepLocked(ev protocol.HoldEvent) (out protocol.HoldEffects, ended bool) {
	return h.entryLocked(nil, ev)
}

// entryLocked passes ev, which is about e, to the hold, and reports whether that ended it: finish must follow,
// with out.
func (h *Hold) entryLocked(e Entry, ev protocol.HoldEvent) (out protocol.HoldEffects, ended bool) {
	ev.Trip = h.m.RoundTrip()
	live := h.state.Live()
	h.state.Step(&h.m.conf, h.m.now(), e, &ev, &out)
	switch ev.Kind {
	case protocol.HoldRenewed, protocol.HoldExtended, protocol.HoldEntered:
		h.why = nil
	}
	h.m.dog.schedule(h)
	return out, live && !h.state.Live()
}

// step passes ev to the hold. If that ends it, cause is why, and step returns the release that is
// then under way, nil if it is kept.
func (h *Hold) step(ev protocol.HoldEvent, cause error) *Return {
	h.mu.Lock()
	out, ended := h.stepLocked(ev)
	if !ended {
		h.mu.Unlock()
		return nil
	}
	return h.finish(out, cause)
}

// finish does what follows the end of the hold. The contexts of its entries end before the release
// is sent, so nobody else has the lock while they say that it is held. The client forgets the hold
// after the release is sent, so Close finds every hold whose release is still to be sent, and after
// the other half of a hold in two sets was lost with it. The caller holds mu, which finish unlocks.
func (h *Hold) finish(out protocol.HoldEffects, cause error) *Return {
	h.cause, h.endedAt = h.causeLocked(cause), time.Now().Add(h.m.left(h.state.Ended))
	if h.claim.trace != nil {
		h.claim.trace.endedLocked(h)
	}
	claim, bound := h.claim, h.bound
	claim.At = out.Release
	state, keep := h.state.Keep(h.token, claim.Token)
	h.mu.Unlock()
	h.timer.Stop()
	for i := range h.state.List {
		h.state.List[i].Key.Ended(h.cause)
	}
	if h.sending != nil {
		h.sending.drain()
	}
	var r *Return
	if !keep || bound != nil || !h.m.park(h, claim, state) {
		next, others := h.m.next(h.key)
		for _, c := range others {
			c.start() // ahead of the release, which lets in whoever stands in the queue
		}
		r = h.m.releaseTo(claim, next)
	}
	if bound != nil && h.state.State != protocol.Released {
		bound.step(protocol.HoldEvent{Kind: protocol.HoldLost}, h.cause)
	}
	h.m.forget(h)
	if !h.m.canBeTold() {
		h.m.freed(h.key)
	}
	if name, slot := script.SlotOf(h.key); slot >= 0 {
		h.m.gaveBack(name, slot)
	}
	h.mu.Lock()
	h.gone = true
	if h.over != nil {
		close(h.over)
	}
	h.mu.Unlock()
	h.m.reportEnd(h)
	return r
}

// causeLocked returns why the hold has ended; given is what the caller says.
func (h *Hold) causeLocked(given error) error {
	switch {
	case h.state.State != protocol.Expired:
		return given
	case !h.state.Watched && h.state.Limited:
		return fmt.Errorf("%w: %q was renewed for Config.MaxHold %v, and no longer", poll.ErrLost, h.Name(), h.limit)
	case !h.state.Watched && h.state.Leaked():
		return fmt.Errorf("%w: %q was renewed no more: its Hold was garbage without Unlock", poll.ErrLost, h.Name())
	case h.why != nil:
		return h.why.With(poll.ErrLost)
	}
	return fmt.Errorf("%w: the validity of %q has ended", poll.ErrLost, h.Name())
}

// expire is what the timer does.
func (h *Hold) expire() {
	if h.Check() != nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause == nil {
		h.timer.Reset(h.m.left(h.state.Until)) // it was renewed meanwhile
	}
}

// Check ends a hold whose validity is over even if its timer has not fired yet, as after the
// machine was suspended. It returns why the hold has ended, nil if it has not.
func (h *Hold) Check() error {
	h.mu.Lock()
	if h.cause == nil && h.m.left(h.state.Until) <= 0 {
		h.mu.Unlock()
		h.step(protocol.HoldEvent{Kind: protocol.HoldDue}, nil)
		h.mu.Lock()
	}
	defer h.mu.Unlock()
	return h.cause
}

// end gives the hold back unless it has ended, and returns the release that is then under way.
func (h *Hold) end(cause error) *Return {
	return h.step(protocol.HoldEvent{Kind: protocol.HoldEnd}, cause)
}

// ended returns a channel that is closed once the hold has ended and its release is on
// the way.
func (h *Hold) ended() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over == nil {
		h.over = make(chan struct{})
		if h.gone {
			close(h.over)
		}
	}
	return h.over
}

// Name returns the name that is locked, or of the semaphore.
func (h *Hold) Name() string {
	_, name := called(h.key)
	return name
}

// Owner returns the owner as the masters know it.
func (h *Hold) Owner() string { return h.id }

// Shared reports whether it is a reader's, from the start or by a downgrade.
func (h *Hold) Shared() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.state.Shared
}

// Slot returns which slot of a semaphore it is, zero if it is a lock.
func (h *Hold) Slot() int {
	_, slot := script.SlotOf(h.key)
	return max(slot, 0)
}

// isPermit reports whether it is a slot of a semaphore.
func (h *Hold) isPermit() bool {
	_, slot := script.SlotOf(h.key)
	return slot >= 0
}

// Token returns the fencing token.
func (h *Hold) Token() int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.token
}

// Count returns the hold count, zero once the hold has ended.
func (h *Hold) Count() int {
	if h.Check() != nil {
		return 0
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.state.List)
}

// Remaining returns how much validity is left, zero once the hold has ended.
func (h *Hold) Remaining() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil {
		return 0
	}
	return max(0, h.m.left(h.state.Until))
}

// Until returns when validity ends, or when the hold ended, by the wall clock.
func (h *Hold) Until() time.Time {
	cause := h.Check()
	h.mu.Lock()
	defer h.mu.Unlock()
	if cause != nil {
		return h.endedAt
	}
	return time.Now().Add(h.m.left(h.state.Until))
}
