package otelredlock

import (
	"testing"

	"go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	nooptrace "go.opentelemetry.io/otel/trace/noop"

	"example.com/redlock/internal/answered"
	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// BenchmarkLock: Lock and Unlock, with masters that answer before they run a script, so that what is
// the client's own shows. See docs/monitoring.md, "Spans".
func BenchmarkLock(b *testing.B) {
	meters := func() metric.MeterProvider {
		return sdkmetric.NewMeterProvider(sdkmetric.WithReader(sdkmetric.NewManualReader()))
	}
	tracers := func(sampler sdktrace.Sampler) trace.TracerProvider {
		return sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler), sdktrace.WithSpanProcessor(discard{}))
	}
	for _, bb := range []struct {
		name string
		cfg  *Config
	}{
		{"untraced", nil},
		{"no-op providers", &Config{MeterProvider: noopmetric.NewMeterProvider(), TracerProvider: nooptrace.NewTracerProvider()}},
		{"metrics", &Config{MeterProvider: meters(), TracerProvider: nooptrace.NewTracerProvider()}},
		{"metrics, 1 percent of spans", &Config{MeterProvider: meters(), TracerProvider: tracers(sdktrace.TraceIDRatioBased(.01))}},
		{"metrics, all spans", &Config{MeterProvider: meters(), TracerProvider: tracers(sdktrace.AlwaysSample())}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			cfg := redlock.Config{Pools: answered.Pools(redlocktest.Start(b, 5), answered.Yes), RestartGuard: redlock.GuardOff}
			if bb.cfg != nil {
				cfg.Trace = New(*bb.cfg)
			}
			c, err := redlock.New(cfg)
			check.OK(b, err)
			b.Cleanup(func() { c.Close() })
			for range 10 { // connections and scripts
				if hold, err := c.TryLock(b.Context(), "warm"); err == nil {
					_ = hold.Unlock(b.Context())
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				hold, err := c.Lock(b.Context(), "a")
				check.OK(b, err)
				check.OK(b, hold.Unlock(b.Context()))
			}
		})
	}
}
