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
	"example.com/redlock/quorum"
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
	owners  []string // of its last few tries
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
	if !slices.Contains(t.owners, e.Owner) {
		t.owners = append(t.owners[max(0, len(t.owners)-3):], e.Owner)
	}
	if r.Ask == redlocktrace.AskRaise {
		t.raises++
		r.Number = t.raises
	}
	t.mu.Unlock()
	e.Call, e.Round, e.Time = t.about, r, time.Now()
	tracer.Tell(t.to, t.to.Trace.Asked, e)
	return &roundTrace{call: t, about: r, sent: e.Time}
}

// voted tells of the answer of master i; slot is that of a permit.
func (r *roundTrace) voted(i, slot int, a script.Answer) {
	t, now := r.call, time.Now()
	e := redlocktrace.Voted{
		Call: t.about, Round: r.about, Time: now, Master: t.m.All.Nodes[i].Name(), Vote: vote(outcome(a)),
		Token: a.Token, Slot: slot, Took: now.Sub(r.sent),
	}
	if a.Outcome == script.Refused {
		e.Ahead = a.Rank
		t.mu.Lock()
		own := slices.Contains(t.owners, a.Holder) // a try before, which is given back behind this ask
		t.mu.Unlock()
		if !own {
			e.Holder, e.Left = a.Holder, a.Left
		}
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

// aboutLocked says which hold an event is about. One with a fixed lease is renewed while its caller waits for another
// name, or somebody has entered it.
func (h *Hold) aboutLocked() redlocktrace.Hold {
	call := h.trace.call.about
	call.Watch = call.Watch || h.d.state.Watched
	return redlocktrace.Hold{Call: call, Owner: h.d.owner.ID, Token: h.token, Slot: h.Slot()}
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

// settledLocked tells what became of a renewal. That of a hold which has ended is not told: what is told of a hold comes
// before its end.
func (t *roundTrace) settledLocked(r *round) {
	h := r.d.hold
	if h == nil || h.trace == nil || h.cause != nil {
		return
	}
	now := time.Now()
	e := redlocktrace.Renewed{
		Hold: h.aboutLocked(), For: t.renewal, Time: now, Left: max(0, t.left), Took: now.Sub(t.sent),
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

// attemptTrace is what a call's trace is told of one of its attempts. The mutex of the driver guards it.
type attemptTrace struct {
	call  *callTrace
	try   int    // the number of its last try among those of the call
	of    uint32 // and among its own
	ahead int    // in the queue of the masters, -1 if that is not known
}

// roundTrace is what a trace is told of one round.
type roundTrace struct {
	call  *callTrace
	about redlocktrace.Round
	sent  time.Time

	// Of a renewal, of which no vote is told.
	renewal redlocktrace.Renewal
	left    time.Duration // validity when it was sent
}

// askedLocked tells of the round that out wants, nil if nothing is told of it.
func (t *attemptTrace) askedLocked(d *driver, out *attempt.Effects) *roundTrace {
	e := redlocktrace.Asked{Owner: d.owner.ID, Masters: d.m.namesOf(out.Send)}
	if d.since != 0 {
		e.Since = time.UnixMicro(d.since)
	}
	round := redlocktrace.Round{Ask: redlocktrace.AskAcquire, Number: int(out.Round.Number)}
	switch out.Round.Command {
	case attempt.Ask:
	case attempt.Register:
		round.Ask = redlocktrace.AskQueue
	case attempt.Follow:
		e.Masters, e.Entered = nil, e.Masters
	case attempt.Raise:
		round.Ask, e.Token, e.Since = redlocktrace.AskRaise, out.Round.Token, time.Time{}
	default:
		return nil
	}
	if t.of != d.state.Try { // a caller at several slots has attempts beside each other
		t.try, t.of = t.call.nextTry(), d.state.Try
	}
	round.Try = t.try
	return t.call.asked(round, e)
}

// enters tells of the round that is to confirm to the call that it has entered h again. h.d.mu is held.
func (t *callTrace) enters(h *Hold) *roundTrace {
	return t.asked(redlocktrace.Round{Try: t.nextTry(), Number: 1, Ask: redlocktrace.AskEnter},
		redlocktrace.Asked{Owner: h.d.owner.ID, Masters: h.d.m.namesOf(h.d.m.All.Set())})
}

// handedOffLocked tells of a hand-off from master i.
func (t *attemptTrace) handedOffLocked(d *driver, i, round int, h script.HandOff) {
	tracer.Tell(t.call.to, t.call.to.Trace.Voted, redlocktrace.Voted{
		Call: t.call.about, Round: redlocktrace.Round{Try: t.try, Number: round}, Time: time.Now(),
		Master: d.m.All.Nodes[i].Name(), Vote: redlocktrace.VoteHandedOff, Token: h.Token, Slot: max(d.slot, 0),
	})
}

// steppedLocked tells what came of an event.
func (t *attemptTrace) steppedLocked(d *driver, before attempt.State, ev *attempt.Event, out *attempt.Effects) {
	s := &d.state
	if before >= attempt.Held {
		if before == attempt.Kept && s.State != before && s.State != attempt.Held && d.hold != nil && d.hold.trace != nil {
			d.hold.trace.released(redlocktrace.Released{Why: d.m.given(ev)})
		}
		return
	}
	decision, ok := decided(s, before)
	if gaveUp := s.Why == attempt.GivenUp && s.State != before; !ok && (out.Release|out.Yield != 0 || gaveUp && out.Send != 0) {
		decision, ok = redlocktrace.DecisionBackOff, true
		if gaveUp {
			decision = redlocktrace.DecisionGaveUp
		}
	}
	if ok {
		t.decidedLocked(d, decision, out)
	}
	if !s.Want.Wait {
		return
	}
	if ev.Kind == attempt.Answer && ev.Outcome == attempt.No && s.State < attempt.Held {
		t.ahead = s.Ahead(&d.m.conf)
	}
	if s.State == attempt.Waiting || s.State == attempt.Minority {
		if why := d.reasonLocked(nil); why != nil {
			t.call.waits(0, t.ahead, why)
		}
	}
}

// decidedLocked tells what the votes came to.
func (t *attemptTrace) decidedLocked(d *driver, decision redlocktrace.Decision, out *attempt.Effects) {
	s := &d.state
	e := redlocktrace.Decided{
		Call: t.call.about, Try: t.try, Time: time.Now(), Owner: d.owner.ID, Decision: decision,
		Need: quorum.Majority(len(d.m.All.Nodes)), Released: d.m.namesOf(out.Release | out.Yield),
	}
	if s.State == attempt.Ended {
		e.Released = d.m.namesOf(out.Send)
	}
	if out.NewOwner {
		e.Granted, e.Refused, e.Failed = d.ballot.Tally()
	} else {
		e.Granted, e.Refused, e.Failed = counted(d)
	}
	switch decision {
	case redlocktrace.DecisionWon:
		e.Token = s.Token
		fallthrough
	case redlocktrace.DecisionMajority:
		e.Validity = max(0, d.m.left(s.Until))
	}
	tracer.Tell(t.call.to, t.call.to.Trace.Decided, e)
}

// counted counts the votes and hand-offs that d, whose mutex is held, has now, and what the other masters
// said last.
func counted(d *driver) (granted, refused, failed int) {
	for i := range d.m.All.Nodes {
		switch m := &d.state.Masters[i]; {
		case m.Voted:
			granted++
		case !m.Said:
		case m.Outcome == attempt.No:
			refused++
		case m.Outcome != attempt.Yes:
			failed++
		}
	}
	return granted, refused, failed
}

// decided is what a step decided that began in the state before, and false if nothing.
func decided(s *attempt.Attempt, before attempt.State) (d redlocktrace.Decision, ok bool) {
	switch {
	case s.State == before:
		return "", false
	case s.State == attempt.Held:
		return redlocktrace.DecisionWon, true
	case s.State == attempt.Settling:
		return redlocktrace.DecisionMajority, true
	case s.State == attempt.Minority:
		return redlocktrace.DecisionMinority, true
	case s.State == attempt.Paused:
		return redlocktrace.DecisionSplit, true
	case s.State == attempt.Waiting && before == attempt.Settling, s.Why == attempt.NoToken:
		return redlocktrace.DecisionNoToken, true
	case s.Why == attempt.Late:
		return redlocktrace.DecisionLate, true
	case s.State == attempt.Waiting && before == attempt.Asking, s.Why == attempt.Refused, s.Why == attempt.Hopeless:
		return redlocktrace.DecisionLost, true
	}
	return "", false
}
