package multilock

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"example.com/redlock/internal/tracer"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktrace"
)

// What a trace is told of calls and holds. All of it is skipped, and nothing is allocated, for a
// client without one: its traces are nil.
//
// Events are told with the mutex held under which they happen, of the driver. So
// they come in order, and the tracer calls the functions later, with no mutex held.

// callTrace is the trace of a call.
type callTrace struct {
	m     *Masters
	to    *tracer.Tracer
	about redlocktrace.Call
	ctx   context.Context // of the caller, for its two events

	began time.Time
	once  sync.Once // done

	mu      sync.Mutex // the last of all
	waiting time.Time  // when Waiting was told first
	ahead   int        // that it told last, -1 if none
	tries   int        // of all its contests
	rounds  int
	raises  int
}

// startCall begins the trace of a call. It is nil when the client is not traced, or closed: Close
// waits for the ends of all others.
func (m *Masters) startCall(ctx context.Context, req *Request) *callTrace {
	if m.trace == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.All.Closed() {
		return nil
	}
	m.calls.Add(1)
	m.lastCall++
	t := &callTrace{m: m, to: m.trace, ctx: ctx, began: time.Now(), ahead: -1}
	t.about = redlocktrace.Call{
		Client: m.trace.Client, ID: m.lastCall, Name: req.Key, Kind: kind(req), Permits: req.Permits, Wait: req.Wait, Watch: req.Watch,
	}
	tracer.Tell(t.to, t.to.Trace.CallStarted, redlocktrace.CallStarted{Call: t.about, Time: t.began, Context: ctx, Lease: req.Lease})
	return t
}

func kind(req *Request) redlocktrace.Kind {
	switch {
	case req.Permits > 0:
		return redlocktrace.KindPermit
	case req.Shared:
		return redlocktrace.KindRead
	}
	return redlocktrace.KindLock
}

// won ends the call, which has h from now on. h.d.mu is held, so what happens to h is told later.
func (t *callTrace) won(h *Hold) {
	if t == nil {
		return
	}
	e := redlocktrace.CallDone{
		Outcome: redlocktrace.OutcomeAcquired, Owner: h.d.owner.ID, Token: h.token, Slot: h.Slot(),
		Validity: max(0, h.d.m.left(h.d.state.Until)),
	}
	if got := h.trace.call; got != t {
		e.Entered = got.about.ID
	}
	t.done(e)
}

// failed ends the call with the error that the caller gets, if any, unless it has ended.
func (t *callTrace) failed(err error) {
	if t != nil && err != nil {
		t.done(redlocktrace.CallDone{Outcome: t.outcome(err), Err: err})
	}
}

func (t *callTrace) done(e redlocktrace.CallDone) {
	t.once.Do(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		e.Call, e.Context, e.Time = t.about, t.ctx, time.Now()
		e.Took, e.Tries, e.Rounds = e.Time.Sub(t.began), t.tries, t.rounds
		if !t.waiting.IsZero() {
			e.Waited = e.Time.Sub(t.waiting)
		}
		tracer.Tell(t.to, t.to.Trace.CallDone, e)
		t.m.calls.Done()
	})
}

// outcome is how a call ended with err.
func (t *callTrace) outcome(err error) redlocktrace.Outcome {
	_, conflict := errors.AsType[*terms.ConflictError](err)
	switch ended := t.ctx.Err(); {
	case errors.Is(err, poll.ErrClosed):
		return redlocktrace.OutcomeClosed
	case ended != nil && errors.Is(err, ended):
		return redlocktrace.OutcomeContextEnded
	case conflict:
		return redlocktrace.OutcomeConflict
	case errors.Is(err, poll.ErrUpgrade):
		return redlocktrace.OutcomeUpgrade
	case errors.Is(err, poll.ErrGuarded):
		return redlocktrace.OutcomeGuarded
	case errors.Is(err, poll.ErrTaken):
		return redlocktrace.OutcomeTaken
	}
	return redlocktrace.OutcomeNoQuorum
}

// waits notes that the caller waits, for what why says, and how many are ahead of it in the queue, -1 if that is
// not known.
func (t *callTrace) waits(behind, ahead int, why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if t.waiting.IsZero() {
		t.waiting = now
	} else if ahead < 0 || ahead == t.ahead {
		return
	}
	t.ahead = ahead
	tracer.Tell(t.to, t.to.Trace.Waiting, redlocktrace.Waiting{Call: t.about, Time: now, Behind: behind, Ahead: ahead, Err: why})
}

// waitsHere notes that w waits for other callers of the client, or for masters that confirm the hold
// of its owner, if unsure is not nil.
func (t *callTrace) waitsHere(w *waiter, unsure *poll.MajorityError) {
	if unsure != nil {
		t.waits(0, -1, unsure)
		return
	}
	t.m.mu.Lock()
	behind := slices.Index(t.m.names[w.line].line.waiters, w)
	t.m.mu.Unlock()
	op, name := called(w.line)
	t.waits(behind, -1, poll.Fail(op, name, poll.ErrTaken, errOther))
}

// nextTry returns the number of one more try.
func (t *callTrace) nextTry() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tries++
	return t.tries
}

// asked tells of a round, which e is about. An attempt counts the raises of each try, so they are numbered anew here.
func (t *callTrace) asked(r redlocktrace.Round, e redlocktrace.Asked) *roundTrace {
	t.mu.Lock()
	t.rounds++
	if r.Ask == redlocktrace.AskRaise {
		t.raises++
		r.Number = t.raises
	}
	t.mu.Unlock()
	e.Call, e.Round, e.Time = t.about, r, time.Now()
	tracer.Tell(t.to, t.to.Trace.Asked, e)
	return &roundTrace{call: t, about: r, sent: e.Time}
}

// voted tells of the answer of master i.
func (r *roundTrace) voted(i int, a script.Answer) {
	t, now := r.call, time.Now()
	e := redlocktrace.Voted{
		Call: t.about, Round: r.about, Time: now, Master: t.m.All.Nodes[i].Name(), Vote: vote(outcome(a)),
		Token: a.Token, Slot: r.slot, Took: now.Sub(r.sent),
	}
	if a.Outcome == script.Refused {
		e.Holder, e.Left, e.Ahead = a.Holder, a.Left, a.Rank
	}
	if a.Outcome != script.Done {
		e.Err = a.Why()
	}
	tracer.Tell(t.to, t.to.Trace.Voted, e)
}

// namesOf returns the names of the masters in at.
func (m *Masters) namesOf(at Set) []string {
	var names []string
	for i, n := range m.All.Nodes {
		if at.Has(i) {
			names = append(names, n.Name())
		}
	}
	return names
}

// vote is what a master's answer is to a round.
func vote(o attempt.Outcome) redlocktrace.Vote {
	return [...]redlocktrace.Vote{
		attempt.Unsent:  redlocktrace.VoteUnsent,
		attempt.Unknown: redlocktrace.VoteUnanswered,
		attempt.Errored: redlocktrace.VoteFailed,
		attempt.No:      redlocktrace.VoteRefused,
		attempt.Yes:     redlocktrace.VoteGranted,
	}[o]
}

// holdTrace is what the trace of the call that got a hold is told of it. The mutex of the driver guards it.
type holdTrace struct {
	call  *callTrace
	since time.Time

	hold  redlocktrace.Hold // once it has ended
	ended time.Time
}

// hold makes the trace of a hold that the call has got, nil if the call has none.
func (t *callTrace) hold() *holdTrace {
	if t == nil {
		return nil
	}
	return &holdTrace{call: t, since: time.Now()}
}

// aboutLocked says which hold an event is about.
func (h *Hold) aboutLocked() redlocktrace.Hold {
	return redlocktrace.Hold{Call: h.trace.call.about, Owner: h.d.owner.ID, Token: h.token, Slot: h.Slot()}
}

// endedLocked tells that h has ended.
func (t *holdTrace) endedLocked(h *Hold) {
	t.hold, t.ended = h.aboutLocked(), time.Now()
	tracer.Tell(t.call.to, t.call.to.Trace.HoldEnded, redlocktrace.HoldEnded{
		Hold: t.hold, Time: t.ended, End: end(h), Err: h.cause, Held: t.ended.Sub(t.since),
	})
}

// released tells that what the hold gave back is released, or kept, or kept no longer.
func (t *holdTrace) released(e redlocktrace.Released) {
	e.Hold, e.Time = t.hold, time.Now()
	e.Took = e.Time.Sub(t.ended)
	tracer.Tell(t.call.to, t.call.to.Trace.Released, e)
}

// end is how h, whose mutex is held, has ended.
func end(h *Hold) redlocktrace.End {
	switch {
	case h.d.state.Why == attempt.Expired:
		return redlocktrace.EndExpired
	case h.d.state.Why == attempt.Lost:
		return redlocktrace.EndLost
	case errors.Is(h.cause, poll.ErrClosed):
		return redlocktrace.EndClosed
	}
	return redlocktrace.EndUnlocked
}

// renewalTrace is what a trace is told of a renewal.
type renewalTrace struct {
	what redlocktrace.Renewal
	sent time.Time
	left time.Duration // validity when it was sent
}

// traceRenewalLocked makes the trace of a renewal, nil if there is none.
func (d *driver) traceRenewalLocked(what redlocktrace.Renewal) *renewalTrace {
	if d.m.trace == nil {
		return nil
	}
	return &renewalTrace{what: what, sent: time.Now(), left: d.m.left(d.state.Until)}
}

// settledLocked tells what became of a renewal. That of a hold which has ended is not told: what is told of a hold comes
// before its end.
func (t *renewalTrace) settledLocked(r *round) {
	h := r.d.hold
	if h == nil || h.trace == nil || h.cause != nil {
		return
	}
	now := time.Now()
	e := redlocktrace.Renewed{
		Hold: h.aboutLocked(), For: t.what, Time: now, Left: max(0, t.left), Took: now.Sub(t.sent),
		Result: redlocktrace.ResultConfirmed, Validity: max(0, h.d.m.left(h.d.state.Until)), Healed: h.d.m.namesOf(r.healed),
	}
	switch {
	case r.err == nil:
	case r.result == attempt.Denied:
		e.Err, e.Result, e.Validity = r.err, redlocktrace.ResultMissing, 0
	default:
		e.Err, e.Result = r.err, redlocktrace.ResultUnconfirmed
	}
	tracer.Tell(h.d.m.trace, h.d.m.trace.Trace.Renewed, e)
}
