package multilock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktrace"
)

// Entry is one of those that share a hold, which its owner entered once for each. Ended is called
// once, when the entry has ended, before the lock is given back. It must not block. Context returns the caller's,
// for what is logged of its hold.
type Entry interface {
	Ended(cause error)
	Context() context.Context
}

// Hold is a lock that callers of this client have: what was won, or was kept and taken over, until the last of them
// has given it back.
type Hold struct {
	d      *driver
	holder any // who may enter it again

	// The mutex of the driver guards these.
	token   int64
	bound   *Hold               // is lost when this one is; nil: see Join
	failed  *poll.MajorityError // why the last renewal was not confirmed, nil if it was
	cause   error               // why it has ended, nil while it has not
	endedAt int64               // in ns of the wall clock
	left    []Entry             // those that are told of the end
	room    [1]Entry            // of left; before the end, its first
	trace   *holdTrace          // nil: it is not traced
}

// NoHold returns a Hold that holds nothing: its name is empty, and its token 0.
func NoHold() *Hold { return &Hold{d: &driver{owner: new(script.Owner)}} }

// take makes a Hold of what d holds, which the callers that share its owner may enter. It returns nil if d holds nothing,
// or another caller has it by now, and says why: see reason.
func (d *driver) take(req *Request, cut error) (*Hold, *poll.MajorityError) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.state.State != attempt.Held || d.hold != nil {
		return nil, d.reasonLocked(cut)
	}
	d.m.mu.Lock()
	defer d.m.mu.Unlock()
	return d.holdLocked(req, &d.first), nil
}

// holdLocked makes h the hold of req. The mutexes of the driver and of Masters are held.
func (d *driver) holdLocked(req *Request, h *Hold) *Hold {
	*h = Hold{d: d, holder: req.Owner, room: [1]Entry{req.Entry}, token: d.state.Token, trace: req.trace.hold()}
	if h.holder == nil {
		h.holder = req.Entry
	}
	d.hold, d.decided = h, nil
	req.trace.won(h)
	d.m.adoptLocked(h)
	return h
}

// liveLocked reports whether the hold lasts, as far as is known.
func (h *Hold) liveLocked() bool { return h.cause == nil }

// endLocked notes why the hold of a driver has ended at ev: for given, unless its last entry has left.
func (d *driver) endLocked(ev *attempt.Event, given error) {
	h := d.hold
	at := time.Now()
	if d.state.State != attempt.Kept {
		at = at.Add(d.m.left(d.state.Until))
	}
	h.left = h.room[:0]
	if ev.Kind == attempt.Leave {
		given, h.left = poll.ErrNotHeld, append(h.left, ev.Key.(Entry))
	}
	h.cause, h.endedAt = h.causeLocked(given), at.UnixNano()
	for i := range d.state.Entries {
		if e := &d.state.Entries[i]; e.State != attempt.Asked {
			h.left = append(h.left, e.Key.(Entry))
		}
	}
	if h.trace != nil {
		h.trace.endedLocked(h)
		if d.state.State == attempt.Kept {
			h.trace.released(redlocktrace.Released{Kept: true})
		}
	}
}

// causeLocked returns why the hold has ended: for given, unless its validity is over.
func (h *Hold) causeLocked(given error) error {
	switch {
	case h.d.state.Why != attempt.Expired:
		return given
	case !h.d.state.Watched && h.d.state.For > 0:
		return fmt.Errorf("%w: %q was renewed for Config.MaxHold %v, and no longer", poll.ErrLost, h.Name(), h.d.state.For)
	case !h.d.state.Watched && slices.ContainsFunc(h.d.state.Entries, func(e attempt.Entry) bool { return e.State == attempt.Leaked }):
		return fmt.Errorf("%w: %q was renewed no more: its Hold was garbage without Unlock", poll.ErrLost, h.Name())
	case h.failed != nil:
		return h.failed.With(poll.ErrLost)
	}
	return fmt.Errorf("%w: the validity of %q has ended", poll.ErrLost, h.Name())
}

// tell tells the entries that the hold has ended: before the release is sent, so nobody else has the lock while their
// contexts say that it is held.
func (h *Hold) tell() {
	for _, e := range h.left {
		e.Ended(h.cause)
	}
}

// over does what follows when the release of a hold is sent, or the lock is kept. So Close finds every hold whose
// release is still to be sent.
func (m *Masters) over(h *Hold) {
	h.d.mu.Lock()
	why := h.d.state.Why
	h.d.mu.Unlock()
	m.forget(h)
	if why != attempt.NotEnded && !m.canBeTold() {
		m.freed(h.d.key)
	}
	if h.d.slot >= 0 {
		m.nextSlot.freed(h.d.key)
	}
}

// loseBound ends the hold that h is bound to, if h was lost.
func (h *Hold) loseBound() {
	h.d.mu.Lock()
	bound, why := h.bound, h.d.state.Why
	h.d.mu.Unlock()
	if bound != nil && (why == attempt.Expired || why == attempt.Lost) {
		bound.end(attempt.Lose, h.cause)
	}
}

// end ends the hold unless it has ended: by End it is given back, by Lose it is lost, whatever its masters say.
func (h *Hold) end(by attempt.Kind, cause error) {
	h.d.mu.Lock()
	if h.liveLocked() {
		h.d.advanceLocked(&attempt.Event{Kind: by}, nil, cause)
	}
	h.d.mu.Unlock()
	h.d.flush()
}

// Check ends a hold whose validity is over even if its timer has not fired yet, as after the
// machine was suspended. It returns why the hold has ended, nil if it has not.
func (h *Hold) Check() error {
	h.d.mu.Lock()
	if h.liveLocked() && h.d.m.left(h.d.state.Until) <= 0 {
		h.d.stepLocked(&attempt.Event{Kind: attempt.Due})
	}
	cause := h.cause
	h.d.mu.Unlock()
	h.d.flush()
	return cause
}

// errEnded tells the caller of enter to lock anew.
var errEnded = errors.New("redlock: hold has ended")

// enter enters the hold again, once a majority of the masters confirms that it still has the lock. A round that was sent
// for a writer, and that reaches the masters after a downgrade, is sent again.
func (h *Hold) enter(ctx context.Context, req *Request) error {
	if !h.d.m.All.Begin() {
		return poll.ErrClosed
	}
	defer h.d.m.All.End()
	defer h.d.flush()
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	for asks := true; h.liveLocked(); {
		if asks {
			sent := h.d.stepLocked(&attempt.Event{Kind: attempt.Enter, Key: req.Entry, Wish: req.wish(), Shared: req.Shared})
			if sent != nil && req.trace != nil {
				sent.trace = req.trace.enters(h)
			}
		}
		i, r := h.d.state.Find(req.Entry), h.d.count
		switch {
		case !h.liveLocked():
			continue
		case i < 0:
			return poll.Fail("lock", h.d.key, poll.ErrUpgrade)
		case h.d.state.Entries[i].State != attempt.Asked:
			req.trace.won(h)
			return nil
		}
		h.d.mu.Unlock()
		cut := h.d.await(ctx, r)
		h.d.mu.Lock()
		i = h.d.state.Find(req.Entry)
		asks = i < 0 && r.shared != h.d.state.Want.Shared
		switch {
		case !h.liveLocked(), asks:
		case i < 0:
			return h.d.m.All.Lost("enter", h.d.key, &r.ballot, poll.ErrNoQuorum, nil, nil)
		case cut != nil && h.d.state.Entries[i].State == attempt.Asked:
			why := h.d.m.All.Lost("enter", h.d.key, &r.ballot, poll.ErrNoQuorum, cut, nil)
			h.d.stepLocked(&attempt.Event{Kind: attempt.Leave, Key: req.Entry})
			return why
		}
	}
	return errEnded
}

// Enter enters h once more, for the entry of req, whether it is shared or not. It takes no lock anew: if h has
// ended, the error says why.
//
// Cost: one script call on each master.
func (m *Masters) Enter(ctx context.Context, h *Hold, req Request) error {
	req.Shared = h.Shared() // for the trace
	req.trace = m.startCall(ctx, &req)
	req.Shared = true // h may be downgraded meanwhile
	err := h.enter(ctx, &req)
	if errors.Is(err, errEnded) {
		h.d.drain()
		err = h.Check()
	}
	req.trace.failed(err)
	return err
}

// Unlock gives an entry back, and with the last one the lock, unless the client keeps it. See redlock.Hold.Unlock for
// its errors.
func (h *Hold) Unlock(ctx context.Context, e Entry) error {
	h.d.mu.Lock()
	i := h.d.state.Find(e)
	if h.d.hold != h || i < 0 || h.d.state.Entries[i].State == attempt.Asked {
		h.d.mu.Unlock()
		return poll.ErrNotHeld
	}
	before := h.cause
	r := h.leaveLocked(e)
	state, count, why, cause := h.d.state.State, h.d.count, h.d.state.Why, h.cause
	h.d.mu.Unlock()
	switch {
	case state == attempt.Held:
		return h.awaitCount(ctx, e, count)
	case state == attempt.Kept:
		h.d.drain()
		return nil
	case before != nil || why != attempt.Released:
		h.d.flush()
		return cause
	}
	cut := h.d.await(ctx, r)
	h.d.drain()
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	return r.releasedLocked(cut)
}

// leaveLocked tells the attempt that e has left. The client may keep the lock if none of its own callers waits for it, and
// it does not keep another lock of the name.
func (h *Hold) leaveLocked(e Entry) *round {
	ev := attempt.Event{Kind: attempt.Leave, Key: e}
	if h.d.m.conf.Keep == 0 || h.bound != nil {
		return h.d.stepLocked(&ev)
	}
	h.d.m.mu.Lock()
	defer h.d.m.mu.Unlock()
	n := h.d.m.names[h.d.key]
	ev.Keep = n != nil && n.kept == nil && h.d.m.parked < maxKept && !h.d.m.All.Closed() && len(n.line.waiters) == 0
	r := h.d.stepLocked(&ev)
	if h.d.state.State == attempt.Kept {
		n.kept = h.d
		h.d.m.parked++
	}
	return r
}

// awaitCount waits until the masters have been told the hold count without e, which has left: by r, or by the next round
// if r was sent before that. r is nil if they need not be told. A round for a writer that reaches them after a downgrade
// tells them nothing.
func (h *Hold) awaitCount(ctx context.Context, e Entry, r *round) error {
	h.d.flush()
	e.Ended(poll.ErrNotHeld)
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	for rounds := 0; r != nil; r = h.d.count {
		h.d.mu.Unlock()
		cut := h.d.await(ctx, r)
		h.d.mu.Lock()
		if r.shared == h.d.state.Want.Shared {
			rounds++
		}
		if cut != nil || rounds == 2 || h.d.count == nil {
			return r.releasedLocked(cut)
		}
	}
	return nil
}

// Rewish has e want the hold renewed as req says from now on. It sends nothing.
func (h *Hold) Rewish(e Entry, req *Request) {
	h.d.mu.Lock()
	if h.d.hold == h && h.liveLocked() {
		h.d.stepLocked(&attempt.Event{Kind: attempt.Rewish, Key: e, Wish: req.wish()})
		h.failed = nil // what was not renewed by then does not say why it ends
	}
	h.d.mu.Unlock()
	h.d.flush()
}

// Orphan notes that nobody can give e back any more. Once that is so of all entries that want the hold
// renewed, it is renewed no more. It ends with its validity and not before, since work under the context
// of an entry may still be going on. Orphan reports whether that is a mistake: a fixed lease may be left
// to end by itself.
//
// It may be called outside the synctest bubble that the client is in: it reads no clock and touches
// no channel and no timer.
func (h *Hold) Orphan(e Entry) (mistake bool) {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if !h.liveLocked() || h.d.state.Find(e) < 0 {
		return false
	}
	watched := h.d.state.Watched
	mistake = h.d.state.Leak(e)
	if watched {
		h.d.m.watchdog.schedule(h.d)
	}
	return mistake
}

// Name returns the name that is locked, or of the semaphore.
func (h *Hold) Name() string {
	_, name := called(h.d.key)
	return name
}

// Owner returns the owner as the masters know it. A driver that holds the lock makes no other.
func (h *Hold) Owner() string {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	return h.d.owner.ID
}

// Shared reports whether it is a reader's, from the start or by a downgrade.
func (h *Hold) Shared() bool {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	return h.d.state.Want.Shared
}

// Slot returns which slot of a semaphore it is, zero if it is a lock.
func (h *Hold) Slot() int { return max(h.d.slot, 0) }

// Token returns the fencing token.
func (h *Hold) Token() int64 {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	return h.token
}

// Count returns the hold count, zero once the hold has ended.
func (h *Hold) Count() (n int) {
	if h.Check() != nil {
		return 0
	}
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	for i := range h.d.state.Entries {
		if h.d.state.Entries[i].State != attempt.Asked {
			n++
		}
	}
	return n
}

// Remaining returns how much validity is left, zero once the hold has ended.
func (h *Hold) Remaining() time.Duration {
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if !h.liveLocked() {
		return 0
	}
	return max(0, h.d.m.left(h.d.state.Until))
}

// Until returns when validity ends, or when the hold ended, by the wall clock.
func (h *Hold) Until() time.Time {
	cause := h.Check()
	h.d.mu.Lock()
	defer h.d.mu.Unlock()
	if cause != nil {
		return time.Unix(0, h.endedAt)
	}
	return time.Now().Add(h.d.m.left(h.d.state.Until))
}
