package otelredlock

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktrace"
)

// call is a call under way.
type call struct {
	story
	lease   time.Duration
	waiting bool
	counted options           // of redlock.waiter.count
	holders map[string]string // the owner that each master last named as the holder
	links   map[string]bool   // the owners whose holds it is known to have waited for
	holder  string            // the last that any of them named
	passer  string            // the owner whose release has passed the lock on
}

// outcomeEntered is that of a re-entry: no time was spent on getting a lock.
const outcomeEntered = "entered"

func (r *recorder) callStarted(e redlocktrace.CallStarted) {
	s := r.begin(e.Context, "redlock."+string(e.Kind), trace.SpanKindClient, e.Time, &e.Call, keyWait.Bool(e.Wait), seconds(keyLease, e.Lease))
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[callID{e.Client, e.ID}] = &call{story: s, lease: e.Lease}
}

// call returns a call that is under way, or nil. Votes may come when it is over.
func (r *recorder) call(c *redlocktrace.Call) *call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.calls[callID{c.Client, c.ID}]
}

// recorded is call for those whose span is recorded.
func (r *recorder) recorded(c *redlocktrace.Call) *call {
	if c := r.call(c); c != nil && c.IsRecording() {
		return c
	}
	return nil
}

func (r *recorder) waiting(e redlocktrace.Waiting) {
	c := r.call(&e.Call)
	if c == nil {
		return
	}
	if !c.waiting {
		c.waiting, c.counted = true, r.sets.of(pair{keyKind, string(e.Kind)}, r.label(e.Name))
		r.metrics.waiters.Add(context.Background(), 1, c.counted.add...)
	}
	if !c.IsRecording() {
		return
	}
	c.add(e.Time, "redlock.waiting", keyReason.String(awaited(e.Err)), keyBehind.Int(e.Behind), keyAhead.Int(e.Ahead))
}

func (r *recorder) asked(e redlocktrace.Asked) {
	c := r.recorded(&e.Call)
	if c == nil || e.Ask == redlocktrace.AskQueue {
		return // there is one after the other for as long as the call waits
	}
	c.add(e.Time, "redlock.asked", keyTry.Int(e.Try), keyRound.Int(e.Number), keyAsk.String(string(e.Ask)),
		keyOwner.String(e.Owner), keyMasters.StringSlice(e.Masters))
}

func (r *recorder) voted(e redlocktrace.Voted) {
	r.metrics.votes.Add(context.Background(), 1, r.sets.of(pair{keyMaster, e.Master}, pair{keyVote, string(e.Vote)}).add...)
	c := r.recorded(&e.Call)
	if c == nil {
		return
	}
	if e.Holder != "" {
		c.holder = e.Holder
		r.linkWaitedFor(c, e.Holder)
		if c.holders[e.Master] == e.Holder {
			return // the master said so before
		}
		if c.holders == nil {
			c.holders = map[string]string{}
		}
		c.holders[e.Master] = e.Holder
	}
	if e.Vote == redlocktrace.VoteHandedOff {
		r.linkHandedOff(c, &e)
	}
	attributes := []attribute.KeyValue{
		keyMaster.String(e.Master), keyVote.String(string(e.Vote)), keyTry.Int(e.Try), keyRound.Int(e.Number),
	}
	if e.Holder != "" {
		attributes = append(attributes, keyHolder.String(e.Holder), seconds(keyLeft, e.Left))
	}
	if e.Err != nil && e.Vote != redlocktrace.VoteRefused {
		attributes = append(attributes, keyReason.String(e.Err.Error()))
	}
	c.add(e.Time, "redlock.voted", attributes...)
}

func (r *recorder) decided(e redlocktrace.Decided) {
	c := r.recorded(&e.Call)
	if c == nil {
		return
	}
	most := mostEvents
	if e.Decision == redlocktrace.DecisionWon {
		most++ // whatever came before
	}
	c.addUpTo(most, e.Time, "redlock.decided", keyTry.Int(e.Try), keyDecision.String(string(e.Decision)), keyGranted.Int(e.Granted),
		keyRefused.Int(e.Refused), keyFailed.Int(e.Failed), keyNeed.Int(e.Need), seconds(keyValidity, e.Validity), keyOwner.String(e.Owner),
		keyReleased.StringSlice(e.Released))
}

func (r *recorder) callDone(e redlocktrace.CallDone) {
	id := callID{e.Client, e.ID}
	r.mu.Lock()
	c := r.calls[id]
	delete(r.calls, id)
	r.mu.Unlock()
	if c == nil { // its CallStarted was missed
		c = &call{story: story{Span: trace.SpanFromContext(context.Background())}}
	}
	outcome := string(e.Outcome)
	if e.Entered != 0 {
		outcome = outcomeEntered
	}
	// With the call's span in it, a metric can show the span as an example.
	ctx := trace.ContextWithSpan(e.Context, c.Span)
	kind, name := pair{keyKind, string(e.Kind)}, r.label(e.Name)
	o := r.sets.of(kind, pair{keyOutcome, outcome}, pair{keyError, failure(&e)}, name)
	r.metrics.acquire.Record(ctx, e.Took.Seconds(), o.record...)
	if c.waiting {
		r.metrics.wait.Record(ctx, e.Waited.Seconds(), o.record...)
		r.metrics.waiters.Add(context.Background(), -1, c.counted.add...)
	}
	if e.Outcome == redlocktrace.OutcomeAcquired && e.Entered == 0 {
		r.holdStarted(c, &e)
		if e.Rounds == 0 {
			r.metrics.takeovers.Add(ctx, 1, r.sets.of(name).add...)
		}
	}
	r.endCall(c, &e, outcome)
}

// endCall ends the span of a call.
func (r *recorder) endCall(c *call, e *redlocktrace.CallDone, outcome string) {
	if c.IsRecording() {
		c.SetAttributes(keyOutcome.String(outcome), keyTries.Int(e.Tries), keyRounds.Int(e.Rounds))
		if e.Outcome == redlocktrace.OutcomeAcquired {
			c.SetAttributes(keyOwner.String(e.Owner), keyToken.Int64(e.Token), seconds(keyValidity, e.Validity))
		}
		if kind := failure(e); kind != "" {
			c.SetAttributes(keyError.String(kind))
			c.SetStatus(codes.Error, e.Err.Error())
		}
	}
	c.end(e.Time)
}

// failure is the class of the error that a call ended with: its outcome or, where its context ended,
// what it waited for. That a lock is taken, of a call that only tries, is an answer and no error.
func failure(e *redlocktrace.CallDone) string {
	switch {
	case e.Err == nil || e.Outcome == redlocktrace.OutcomeTaken:
		return ""
	case e.Outcome == redlocktrace.OutcomeContextEnded:
		return awaited(e.Err)
	}
	return string(e.Outcome)
}

// awaited is what a call waits for, or waited for when it ended.
func awaited(err error) string {
	switch {
	case errors.Is(err, redlock.ErrGuarded):
		return string(redlocktrace.OutcomeGuarded)
	case errors.Is(err, redlock.ErrNoQuorum):
		return string(redlocktrace.OutcomeNoQuorum)
	}
	return string(redlocktrace.OutcomeTaken)
}
