package multilock

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"example.com/redlock/internal/tracer"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktrace"
)

// What a trace is told of calls and holds. All of it is skipped, and nothing is allocated, for a
// client without one: its traces are nil.
//
// Events are told with the mutex held under which they happen, of the contest or of the hold. So
// they come in order, and the tracer calls the functions later, with no mutex held.

// callTrace is the trace of a call.
type callTrace struct {
	m *Masters
	*tracer.Tracer
	redlocktrace.Call
	ctx context.Context // of the caller, for its two events

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
	if m.Closed() {
		return nil
	}
	m.calls.Add(1)
	m.lastCall++
	t := &callTrace{m: m, Tracer: m.trace, ctx: ctx, began: time.Now(), ahead: -1}
	t.Call = redlocktrace.Call{
		Client: m.trace.Client, ID: m.lastCall, Name: req.Key, Kind: kind(req), Permits: req.Permits, Wait: req.Wait, Watch: req.Watch,
	}
	tracer.Tell(t.Tracer, t.CallStarted, redlocktrace.CallStarted{Call: t.Call, Time: t.began, Context: ctx, Lease: req.Lease})
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

// won ends the call, which has h from now on. h.mu is held, so what happens to h is told later.
func (t *callTrace) won(h *Hold) {
	e := redlocktrace.CallDone{
		Outcome: redlocktrace.OutcomeAcquired, Owner: h.id, Token: h.token, Slot: h.Slot(),
		Validity: max(0, h.m.left(h.state.Until)),
	}
	if got := h.claim.trace.call; got != t {
		e.Entered = got.ID
	}
	t.done(e)
}

// failed ends the call with the error that the caller gets, unless it has ended.
func (t *callTrace) failed(err error) {
	t.done(redlocktrace.CallDone{Outcome: t.outcome(err), Err: err})
}

func (t *callTrace) done(e redlocktrace.CallDone) {
	t.once.Do(func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		e.Call, e.Context, e.Time = t.Call, t.ctx, time.Now()
		e.Took, e.Tries, e.Rounds = e.Time.Sub(t.began), t.tries, t.rounds
		if !t.waiting.IsZero() {
			e.Waited = e.Time.Sub(t.waiting)
		}
		tracer.Tell(t.Tracer, t.CallDone, e)
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
	tracer.Tell(t.Tracer, t.Waiting, redlocktrace.Waiting{Call: t.Call, Time: now, Behind: behind, Ahead: ahead, Err: why})
}

// waitsHere notes that w waits for other callers of the client, or for masters that confirm the hold
// of its owner, if unsure is not nil.
func (t *callTrace) waitsHere(w *waiter, unsure *poll.MajorityError) {
	if unsure != nil {
		t.waits(0, -1, unsure)
		return
	}
	t.m.mu.Lock()
	behind := slices.Index(t.m.names[w.key].line.waiters, w)
	t.m.mu.Unlock()
	op, name := called(w.key)
	t.waits(behind, -1, poll.Fail(op, name, poll.ErrTaken, errOther))
}

// asked tells of a round, which e is about. A contest counts the raises of each try, so they are numbered anew
// here; that of Join belongs to the last try.
func (t *callTrace) asked(r redlocktrace.Round, e redlocktrace.Asked) *roundTrace {
	t.mu.Lock()
	t.tries = max(t.tries, r.Try)
	t.rounds++
	if r.Ask == redlocktrace.AskRaise {
		t.raises++
		r.Try, r.Number = cmp.Or(r.Try, t.tries), t.raises
	}
	t.mu.Unlock()
	e.Call, e.Round, e.Time = t.Call, r, time.Now()
	tracer.Tell(t.Tracer, t.Asked, e)
	return &roundTrace{call: t, Round: r, sent: e.Time}
}

// voted tells of the answer of master i.
func (r *roundTrace) voted(i int, a script.Answer) {
	t, now := r.call, time.Now()
	e := redlocktrace.Voted{
		Call: t.Call, Round: r.Round, Time: now, Master: t.m.Nodes[i].Name(), Vote: vote(outcome(a)),
		Token: a.Token, Slot: r.slot, Took: now.Sub(r.sent),
	}
	if a.Outcome == script.Refused {
		e.Holder, e.Left, e.Ahead = a.Holder, a.Left, a.Rank
	}
	if a.Outcome != script.Done {
		e.Err = a.Why()
	}
	tracer.Tell(t.Tracer, t.Voted, e)
}

// agrees makes the trace of a raise that makes token the one of the hold that the call has got from owner.
// It returns what to tell it of each answer, nil if the call is not traced.
func (t *holdTrace) agrees(owner string, token int64) func(i int, a script.Answer) {
	if t == nil {
		return nil
	}
	m := t.call.m
	return t.call.asked(redlocktrace.Round{Ask: redlocktrace.AskRaise},
		redlocktrace.Asked{Owner: owner, Masters: m.namesOf(m.All()), Token: token}).voted
}

// namesOf returns the names of the masters in at.
func (m *Masters) namesOf(at Set) []string {
	var names []string
	for i, n := range m.Nodes {
		if at.Has(i) {
			names = append(names, n.Name())
		}
	}
	return names
}

// vote is what a master's answer is to a round.
func vote(o protocol.Outcome) redlocktrace.Vote {
	return [...]redlocktrace.Vote{
		protocol.Unsent:  redlocktrace.VoteUnsent,
		protocol.Unknown: redlocktrace.VoteUnanswered,
		protocol.Errored: redlocktrace.VoteFailed,
		protocol.No:      redlocktrace.VoteRefused,
		protocol.Yes:     redlocktrace.VoteGranted,
	}[o]
}

// holdTrace is what the trace of the call that got a hold is told of it. Hold.mu guards it.
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
	return redlocktrace.Hold{Call: h.claim.trace.call.Call, Owner: h.id, Token: h.token, Slot: h.Slot()}
}

// endedLocked tells that h has ended.
func (t *holdTrace) endedLocked(h *Hold) {
	t.hold, t.ended = h.aboutLocked(), time.Now()
	tracer.Tell(t.call.Tracer, t.call.HoldEnded, redlocktrace.HoldEnded{
		Hold: t.hold, Time: t.ended, End: end(h), Err: h.cause, Held: t.ended.Sub(t.since),
	})
}

// released tells what came of the release that followed the end of a hold.
func (t *holdTrace) released(r *Return, err error) {
	now := time.Now()
	e := redlocktrace.Released{Hold: t.hold, Time: now, Err: err, Took: now.Sub(t.ended)}
	if r.next != nil {
		e.Next = r.next.c.trace.call.ID
	}
	tracer.Tell(t.call.Tracer, t.call.Released, e)
}

// keptLocked tells that the client keeps what the hold gave back or, if there is a why, no longer. Masters.mu is held.
func (t *holdTrace) keptLocked(why redlocktrace.Why) {
	now := time.Now()
	tracer.Tell(t.call.Tracer, t.call.Released, redlocktrace.Released{
		Hold: t.hold, Time: now, Kept: why == "", Why: why, Took: now.Sub(t.ended),
	})
}

// end is how h, whose mutex is held, has ended.
func end(h *Hold) redlocktrace.End {
	switch {
	case h.state.State == protocol.Expired:
		return redlocktrace.EndExpired
	case h.state.State == protocol.Lost:
		return redlocktrace.EndLost
	case errors.Is(h.cause, poll.ErrClosed):
		return redlocktrace.EndClosed
	}
	return redlocktrace.EndUnlocked
}

// renewalTrace is what a trace is told of a call that renews holds.
type renewalTrace struct {
	*tracer.Tracer
	what redlocktrace.Renewal
	sent time.Time
	left []time.Duration // validity of each hold when it was sent
}

// traceRenewal makes the trace of a renewal, nil if there is none.
func (m *Masters) traceRenewal(what redlocktrace.Renewal, list []renewal) *renewalTrace {
	if m.trace == nil {
		return nil
	}
	t := &renewalTrace{Tracer: m.trace, what: what, sent: time.Now()}
	for i := range list {
		t.left = append(t.left, list[i].hold.Remaining())
	}
	return t
}

// settled tells what became of the renewal of hold n.
func (t *renewalTrace) settled(r *renewals, b *poll.Ballot, n int, ev protocol.HoldEvent, why *poll.MajorityError) {
	now := time.Now()
	e := redlocktrace.Renewed{For: t.what, Time: now, Left: t.left[n], Result: redlocktrace.ResultUnconfirmed, Took: now.Sub(t.sent)}
	for i, node := range r.m.Nodes {
		if a := b.At(i); b.In.Has(i) && a.Outcome == script.Done && a.Renewed[n] == script.Healed {
			e.Healed = append(e.Healed, node.Name())
		}
	}
	h := r.list[n].hold
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.cause != nil {
		return // what is told of a hold comes before its end
	}
	e.Hold, e.Validity = h.aboutLocked(), max(0, h.m.left(h.state.Until))
	switch {
	case why != nil:
		e.Err = why
		if ev.Kind == protocol.HoldLost && (!ev.Writer || !h.state.Shared) { // see protocol.Hold
			e.Result, e.Validity = redlocktrace.ResultMissing, 0
		}
	default:
		e.Result, e.Validity = redlocktrace.ResultConfirmed, max(e.Validity, h.m.left(ev.Until))
	}
	tracer.Tell(t.Tracer, t.Renewed, e)
}
