package otelredlock

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
)

// The buckets of histograms, in seconds. A free lock takes one round trip, from a fraction of a
// millisecond to half a second between continents; a wait or a hold takes from milliseconds to hours.
var (
	roundTrips = metric.WithExplicitBucketBoundaries(.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5)
	waits      = metric.WithExplicitBucketBoundaries(.0005, .001, .002, .005, .01, .02, .05, .1, .2, .5, 1, 2, 5, 10, 30, 60, 120, 300, 600)
	holds      = metric.WithExplicitBucketBoundaries(.001, .005, .01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 600, 1800, 3600, 14400)
	shares     = metric.WithExplicitBucketBoundaries(0, .1, .2, .3, .4, .5, .6, .7, .8, .9, 1)
)

// instruments are the metrics.
type instruments struct {
	acquire   metric.Float64Histogram
	wait      metric.Float64Histogram
	waiters   metric.Int64UpDownCounter
	hold      metric.Float64Histogram
	holds     metric.Int64UpDownCounter
	losses    metric.Int64Counter
	renewals  metric.Int64Counter
	renewal   metric.Float64Histogram
	remaining metric.Float64Histogram
	release   metric.Float64Histogram
	takeovers metric.Int64Counter
	kept      metric.Float64Histogram
	votes     metric.Int64Counter
	script    metric.Float64Histogram
	state     metric.Int64ObservableUpDownCounter
	overlaps  metric.Int64ObservableUpDownCounter
	missed    metric.Int64Counter
}

// newInstruments makes them. One that the provider refuses does nothing.
func newInstruments(meter metric.Meter) *instruments {
	m := maker{meter}
	return &instruments{
		acquire:   m.histogram("redlock.acquire.duration", "s", "How long calls took to get a lock, or to fail.", waits),
		wait:      m.histogram("redlock.wait.duration", "s", "How long calls waited that did not get the lock at once.", waits),
		waiters:   m.upDown("redlock.waiter.count", "{waiter}", "Calls that wait for a lock now."),
		hold:      m.histogram("redlock.hold.duration", "s", "How long locks were held.", holds),
		holds:     m.upDown("redlock.hold.count", "{hold}", "Locks that are held now."),
		losses:    m.counter("redlock.hold.losses", "{hold}", "Holds that were lost: other than at the end of a fixed lease, or by Close."),
		renewals:  m.counter("redlock.renewals", "{renewal}", "Renewals of holds."),
		renewal:   m.histogram("redlock.renewal.duration", "s", "How long renewals of holds took.", roundTrips),
		remaining: m.histogram("redlock.renewal.remaining", "1", "Share of the lease that was left when a hold was renewed.", shares),
		release:   m.histogram("redlock.release.duration", "s", "How long releases of holds took.", roundTrips),
		takeovers: m.counter("redlock.kept.takeovers", "{hold}", "Holds that took over what the client had kept."),
		kept:      m.histogram("redlock.kept.duration", "s", "How long locks were kept that were given back.", holds),
		votes:     m.counter("redlock.master.votes", "{vote}", "What masters said when they were asked for a lock."),
		script:    m.histogram("redlock.script.duration", "s", "How long masters took to answer script calls.", roundTrips),
		state:     m.observed("redlock.master.state", "{client}", "Clients that see the master in the state."),
		overlaps:  m.observed("redlock.overlap.count", "{set}", "Ways in which others use the masters that conflict with the client's."),
		missed:    m.counter("redlock.trace.missed", "{event}", "Events that were dropped, since telemetry was too slow."),
	}
}

// maker makes instruments, and tells OpenTelemetry's error handler of those that fail.
type maker struct{ metric.Meter }

func (m maker) histogram(name, unit, description string, buckets metric.HistogramOption) metric.Float64Histogram {
	return made(m.Float64Histogram(name, metric.WithUnit(unit), metric.WithDescription(description), buckets))
}

func (m maker) counter(name, unit, description string) metric.Int64Counter {
	return made(m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(description)))
}

func (m maker) upDown(name, unit, description string) metric.Int64UpDownCounter {
	return made(m.Int64UpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(description)))
}

func (m maker) observed(name, unit, description string) metric.Int64ObservableUpDownCounter {
	return made(m.Int64ObservableUpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(description)))
}

// made returns an instrument. The API asks that it is of use even where there is an error.
func made[I any](instrument I, err error) I {
	if err != nil {
		otel.Handle(err)
	}
	return instrument
}
