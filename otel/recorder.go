package otelredlock

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"example.com/redlock/redlocktrace"
)

// recorder makes metrics and spans of the events of its clients. Those of one client come one after the other, so what
// belongs to one client needs no mutex; all clients share the maps.
type recorder struct {
	cfg     Config
	tracer  trace.Tracer
	meter   metric.Meter
	metrics *instruments
	sets    *sets

	mu      sync.Mutex // guards what follows; while it is held, no function of the SDK is called
	calls   map[callID]*call
	holds   map[string]*hold // by their owners
	passed  passed
	clients map[string]*client

	callbacks sync.Mutex
	callback  metric.Registration // while there are clients
}

func newRecorder(cfg Config) *recorder {
	if cfg.MeterProvider == nil {
		cfg.MeterProvider = otel.GetMeterProvider()
	}
	if cfg.TracerProvider == nil {
		cfg.TracerProvider = otel.GetTracerProvider()
	}
	if cfg.Label == nil {
		cfg.Label = func(string) string { return "" }
	}
	meter := cfg.MeterProvider.Meter(Scope)
	return &recorder{
		cfg:     cfg,
		tracer:  cfg.TracerProvider.Tracer(Scope),
		meter:   meter,
		metrics: newInstruments(meter),
		sets:    newSets(cfg.Attributes),
		calls:   map[callID]*call{},
		holds:   map[string]*hold{},
		passed:  passed{last: map[place]handOver{}},
		clients: map[string]*client{},
	}
}

// trace has the functions that a client calls.
func (r *recorder) trace() *redlocktrace.Trace {
	return &redlocktrace.Trace{
		ClientChanged: r.clientChanged,
		CallStarted:   r.callStarted,
		Waiting:       r.waiting,
		Asked:         r.asked,
		Voted:         r.voted,
		Decided:       r.decided,
		CallDone:      r.callDone,
		Renewed:       r.renewed,
		HoldEnded:     r.holdEnded,
		Released:      r.released,
		MasterChanged: r.masterChanged,
		Answered:      r.answered,
		SetsOverlap:   r.setsOverlap,
	}
}

// callID names a call among those of all clients.
type callID struct {
	client string
	id     uint64
}

// label is the attribute of metrics for the name of a lock.
func (r *recorder) label(name string) pair { return pair{keyName, r.cfg.Label(name)} }

func seconds(key attribute.Key, d time.Duration) attribute.KeyValue {
	return key.Float64(d.Seconds())
}

// story is a span with its events. The SDK keeps the last 128 events of a span, unless it was told
// otherwise, and a call that waits through an outage has thousands. How it began and how it ended say
// more than the rest.
type story struct {
	trace.Span
	told, omitted int
}

const mostEvents = 64

// begin begins the span of a call, or of the hold that it got.
func (r *recorder) begin(ctx context.Context, name string, kind trace.SpanKind, at time.Time, c *redlocktrace.Call, more ...attribute.KeyValue) story {
	_, span := r.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithTimestamp(at), trace.WithAttributes(r.cfg.Attributes...),
		trace.WithAttributes(keyName.String(c.Name), keyKind.String(string(c.Kind))), trace.WithAttributes(more...))
	if span.IsRecording() {
		span.SetAttributes(keyClient.String(c.Client))
		if c.Permits > 0 {
			span.SetAttributes(keyPermits.Int(c.Permits))
		}
	}
	return story{Span: span}
}

// add adds an event, unless there are many already.
func (s *story) add(at time.Time, name string, attributes ...attribute.KeyValue) {
	s.addUpTo(mostEvents, at, name, attributes...)
}

func (s *story) addUpTo(most int, at time.Time, name string, attributes ...attribute.KeyValue) {
	if s.told >= most {
		s.omitted++
		return
	}
	s.told++
	s.AddEvent(name, trace.WithTimestamp(at), trace.WithAttributes(attributes...))
}

// end ends the span.
func (s *story) end(at time.Time) {
	if s.omitted > 0 {
		s.SetAttributes(keyOmitted.Int(s.omitted))
	}
	s.End(trace.WithTimestamp(at))
}
