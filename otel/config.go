package otelredlock

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"example.com/redlock/redlocktrace"
)

// Scope is the name of the meter and of the tracer.
const Scope = "example.com/redlock/otel"

// Config says where metrics and spans go. The zero value is of use: it takes the global providers.
type Config struct {
	// MeterProvider makes the instruments. Default: otel.GetMeterProvider(). The no-op provider of
	// go.opentelemetry.io/otel/metric/noop turns metrics off.
	MeterProvider metric.MeterProvider

	// TracerProvider makes the spans. Default: otel.GetTracerProvider(). The no-op provider of
	// go.opentelemetry.io/otel/trace/noop turns spans off.
	TracerProvider trace.TracerProvider

	// Attributes are added to all metrics and spans. They tell the clients of a program apart: where
	// it has several with different masters, give each a Trace with an attribute of its own, or the
	// alerts cannot tell which majority is in danger. Default: none.
	Attributes []attribute.KeyValue

	// Label makes the attribute redlock.name of metrics from the name of a lock: "orders" of
	// "orders:42", for example. It must return few different values, since each is a time series of
	// its own in every metric that has it, and "" for no attribute. Default: metrics do not know
	// names. Spans have the whole name.
	Label func(name string) string
}

// New returns a Trace for redlock.Config that makes metrics and spans of what a client does. Clients
// may share it. It costs the masters nothing, and holds on to nothing of a client that is closed but its last hand-offs.
func New(cfg Config) *redlocktrace.Trace { return newRecorder(cfg).trace() }
