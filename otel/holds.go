package otelredlock

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktrace"
)

// hold is a lock that is held.
type hold struct {
	story
	client  string
	counted options // of redlock.hold.count
	lease   time.Duration
	short   bool // it was handed off, with a short lease, and not renewed yet
}

// endLeaseOver is the redlock.end of a fixed lease that is over, as its caller wanted.
const endLeaseOver redlocktrace.End = "lease_over"

// holdStarted begins the hold that c has got.
func (r *recorder) holdStarted(c *call, e *redlocktrace.CallDone) {
	kind, name := pair{keyKind, string(e.Kind)}, r.label(e.Name)
	counted := r.sets.of(kind, name)
	r.metrics.holds.Add(context.Background(), 1, counted.add...)
	// A series that begins with the first loss, or failure, would hide it from rate and increase.
	for _, result := range []redlocktrace.Result{redlocktrace.ResultConfirmed, redlocktrace.ResultUnconfirmed, redlocktrace.ResultMissing} {
		renewals := r.sets.of(pair{keyRenewal, string(redlocktrace.RenewalWatchdog)}, pair{keyResult, string(result)})
		r.metrics.renewals.Add(context.Background(), 0, renewals.add...)
	}
	for _, end := range []redlocktrace.End{redlocktrace.EndLost, redlocktrace.EndExpired} {
		r.metrics.losses.Add(context.Background(), 0, r.sets.of(kind, pair{keyEnd, string(end)}, name).add...)
	}
	ctx := e.Context
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx = trace.ContextWithSpan(ctx, c.Span) // in one trace with the call, at least
	}
	s := r.begin(ctx, "redlock.hold", trace.SpanKindInternal, e.Time, &e.Call, keyOwner.String(e.Owner), keyToken.Int64(e.Token))
	if e.Permits > 0 && s.IsRecording() {
		s.SetAttributes(keySlot.Int(e.Slot))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.holds[e.Owner] = &hold{story: s, client: e.Client, counted: counted, lease: c.lease, short: e.Validity < c.lease/2}
}

// hold returns a hold that has not ended, or nil.
func (r *recorder) hold(owner string) *hold {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.holds[owner]
}

func (r *recorder) renewed(e redlocktrace.Renewed) {
	h := r.hold(e.Owner)
	if h == nil {
		return
	}
	ctx := trace.ContextWithSpan(context.Background(), h.Span)
	r.metrics.renewal.Record(ctx, e.Took.Seconds(), r.sets.of(pair{keyRenewal, string(e.For)}).record...)
	r.metrics.renewals.Add(ctx, 1, r.sets.of(pair{keyRenewal, string(e.For)}, pair{keyResult, string(e.Result)}).add...)
	// The first renewal of a hold that was handed off finds little left, and so may one that the program asks for: neither
	// shows that renewals come late.
	if e.For == redlocktrace.RenewalWatchdog && !h.short && h.lease > 0 {
		r.metrics.remaining.Record(ctx, e.Left.Seconds()/h.lease.Seconds(), r.sets.of().record...)
	}
	if e.Result == redlocktrace.ResultConfirmed {
		h.short = false
	}
	if h.IsRecording() && (e.Result != redlocktrace.ResultConfirmed || e.For != redlocktrace.RenewalWatchdog || e.Healed != nil) {
		h.add(e.Time, "redlock.renewed", keyRenewal.String(string(e.For)), keyResult.String(string(e.Result)),
			seconds(keyLeft, e.Left), seconds(keyValidity, e.Validity), keyHealed.StringSlice(e.Healed))
	}
}

func (r *recorder) holdEnded(e redlocktrace.HoldEnded) {
	r.mu.Lock()
	h := r.holds[e.Owner]
	if h != nil {
		delete(r.holds, e.Owner)
		r.passed.add(place{e.Name, e.Kind == redlocktrace.KindPermit, e.Slot}, handOver{e.Owner, e.Token, h.SpanContext()})
	}
	r.mu.Unlock()
	if h == nil {
		return
	}
	end := e.End
	if end == redlocktrace.EndExpired && !e.Watch {
		end = endLeaseOver
	}
	lost := end == redlocktrace.EndLost || end == redlocktrace.EndExpired // before anybody wished it to end
	ctx := trace.ContextWithSpan(context.Background(), h.Span)
	kind, name := pair{keyKind, string(e.Kind)}, r.label(e.Name)
	o := r.sets.of(kind, pair{keyEnd, string(end)}, name)
	r.metrics.holds.Add(context.Background(), -1, h.counted.add...)
	r.metrics.hold.Record(ctx, e.Held.Seconds(), o.record...)
	if lost {
		r.metrics.losses.Add(ctx, 1, o.add...)
	}
	if h.IsRecording() {
		h.SetAttributes(keyEnd.String(string(end)))
		if lost {
			h.SetAttributes(keyError.String(string(end)))
			h.SetStatus(codes.Error, e.Err.Error())
		}
	}
	h.end(e.Time)
}

func (r *recorder) released(e redlocktrace.Released) {
	switch {
	case e.Kept: // nothing was released
	case e.Why != "":
		o := r.sets.of(pair{keyWhy, string(e.Why)}, r.label(e.Name))
		r.metrics.kept.Record(context.Background(), e.Took.Seconds(), o.record...)
	default:
		r.metrics.release.Record(context.Background(), e.Took.Seconds(), r.sets.of(pair{keyError, unreleased(e.Err)}).record...)
	}
}

// unreleased is the class of the error of an Unlock.
func unreleased(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, redlock.ErrNoQuorum):
		return string(redlocktrace.OutcomeNoQuorum)
	case errors.Is(err, redlock.ErrLost):
		return string(redlocktrace.EndLost)
	case errors.Is(err, redlock.ErrClosed):
		return string(redlocktrace.EndClosed)
	}
	return "_OTHER" // as in OpenTelemetry's conventions
}
