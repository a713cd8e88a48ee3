package otelredlock

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
	"example.com/redlock/redlocktrace"
)

// lab has what was measured and recorded of its clients.
type lab struct {
	t        *testing.T
	fleet    *redlocktest.Fleet
	trace    *redlocktrace.Trace
	recorder *recorder
	reader   *metric.ManualReader
	provider *metric.MeterProvider
	spans    *tracetest.InMemoryExporter
	tracers  *sdktrace.TracerProvider
}

// bubble runs f on time of its own, with three masters.
func bubble(t *testing.T, cfg Config, f func(*testing.T, *lab)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f(t, newLab(t, redlocktest.Start(t, 3), cfg))
	})
}

func newLab(t *testing.T, fleet *redlocktest.Fleet, cfg Config) *lab {
	l := &lab{t: t, fleet: fleet, reader: metric.NewManualReader(), spans: tracetest.NewInMemoryExporter()}
	l.provider = metric.NewMeterProvider(metric.WithReader(l.reader))
	l.tracers = sdktrace.NewTracerProvider(sdktrace.WithSyncer(l.spans))
	cfg.MeterProvider, cfg.TracerProvider = l.provider, l.tracers
	l.recorder = newRecorder(cfg)
	l.trace = l.recorder.trace()
	return l
}

// open makes a client that is connected.
func (l *lab) open(cfg redlock.Config) *redlock.Client {
	l.t.Helper()
	cfg.Pools = l.fleet.Pools()
	if cfg.RestartGuard == 0 {
		cfg.RestartGuard = redlock.GuardOff
	}
	cfg.Trace = l.trace
	c, err := redlock.New(cfg)
	check.OK(l.t, err, "New")
	l.t.Cleanup(func() { c.Close() })
	synctest.Wait()
	return c
}

// lock is Lock of a name that must be free, or become free.
func (l *lab) lock(ctx context.Context, c *redlock.Client, name string) *redlock.Hold {
	l.t.Helper()
	hold, err := c.Lock(ctx, name)
	check.OK(l.t, err, "Lock(%q)", name)
	l.t.Cleanup(func() { runtime.KeepAlive(hold) })
	return hold
}

// unlock is an Unlock that must succeed. It returns when everything was told.
func (l *lab) unlock(hold *redlock.Hold) {
	l.t.Helper()
	check.OK(l.t, hold.Unlock(context.Background()), "Unlock")
	synctest.Wait()
}

// metrics collects all values: of histograms how many there were.
func (l *lab) metrics() map[string]int64 {
	l.t.Helper()
	values := map[string]int64{}
	for _, m := range l.collect() {
		_, points := kindOf(m)
		for attributes, value := range points {
			values[series(m.Name, attributes)] = value
		}
	}
	return values
}

// kindOf says what a metric is, and returns its time series.
func kindOf(m metricdata.Metrics) (kind string, points map[attribute.Set]int64) {
	points = map[attribute.Set]int64{}
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		kind = "up-down counter"
		if data.IsMonotonic {
			kind = "counter"
		}
		for _, p := range data.DataPoints {
			points[p.Attributes] = p.Value
		}
	case metricdata.Histogram[float64]:
		kind = "histogram"
		for _, p := range data.DataPoints {
			points[p.Attributes] = int64(p.Count)
		}
	}
	return kind, points
}

// collect returns all that was measured.
func (l *lab) collect() []metricdata.Metrics {
	l.t.Helper()
	var data metricdata.ResourceMetrics
	check.OK(l.t, l.reader.Collect(context.Background(), &data))
	return data.ScopeMetrics[0].Metrics
}

// series names a time series: redlock.hold.count{kind=lock}.
func series(name string, attributes attribute.Set) string {
	var all []string
	for _, a := range attributes.ToSlice() {
		all = append(all, strings.TrimPrefix(string(a.Key), "redlock.")+"="+a.Value.String())
	}
	return strings.TrimPrefix(name, "redlock.") + "{" + strings.Join(all, ",") + "}"
}

// expect wants these values of metrics.
func (l *lab) expect(when string, want map[string]int64) {
	l.t.Helper()
	got := l.metrics()
	for name, value := range want {
		v, there := got[name]
		check.That(l.t, there && v == value, "%s: %s = %d (there: %t), want %d", when, name, v, there, value)
	}
	if l.t.Failed() {
		l.t.Logf("%s:\n%s", when, list(got))
	}
}

// total adds up the values whose names begin and end so.
func (l *lab) total(prefix, suffix string) (sum int64) {
	for name, value := range l.metrics() {
		if strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) {
			sum += value
		}
	}
	return sum
}

func list(values map[string]int64) string {
	var lines strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		fmt.Fprintln(&lines, name, values[name])
	}
	return lines.String()
}

// span returns the one span that has ended with that name.
func (l *lab) span(name string) tracetest.SpanStub {
	l.t.Helper()
	found := l.named(name)
	if len(found) != 1 {
		l.t.Fatalf("%d spans are called %s, want one", len(found), name)
	}
	return found[0]
}

// at returns an attribute of a span, "" if there is none.
func at(span tracetest.SpanStub, key attribute.Key) string {
	for _, a := range span.Attributes {
		if a.Key == key {
			return a.Value.String()
		}
	}
	return ""
}

// each does something to some masters.
func each(fleet *redlocktest.Fleet, from, to int, f func(*redlocktest.Master)) {
	for _, m := range fleet.Masters()[from:to] {
		f(m)
	}
}

// discard is a span processor that exports nothing.
type discard struct{}

func (discard) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (discard) OnEnd(sdktrace.ReadOnlySpan)                     {}
func (discard) Shutdown(context.Context) error                  { return nil }
func (discard) ForceFlush(context.Context) error                { return nil }

// blocker is a span processor that blocks when the first span ends.
type blocker struct {
	discard
	blocked atomic.Bool
	until   chan struct{}
}

func (b *blocker) OnEnd(sdktrace.ReadOnlySpan) {
	if b.blocked.CompareAndSwap(false, true) {
		<-b.until
	}
}

// named returns the spans that have ended with that name, in the order in which they began.
func (l *lab) named(name string) (spans []tracetest.SpanStub) {
	for _, span := range l.spans.GetSpans() {
		if span.Name == name {
			spans = append(spans, span)
		}
	}
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	return spans
}

// remaining counts renewals that had more than low and at most high of the lease left.
func (l *lab) remaining(low, high float64) (n uint64) {
	for _, m := range l.collect() {
		if m.Name != "redlock.renewal.remaining" {
			continue
		}
		for _, p := range m.Data.(metricdata.Histogram[float64]).DataPoints {
			for i, bound := range p.Bounds {
				if bound > low && bound <= high {
					n += p.BucketCounts[i]
				}
			}
		}
	}
	return n
}

func second[A any](_ A, err error) error { return err }
