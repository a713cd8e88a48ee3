// Package otelredlock makes OpenTelemetry metrics and spans of what a client of package redlock does.
//
// # Usage
//
//	client, err := redlock.New(redlock.Config{
//		Masters: masters,
//		Trace:   otelredlock.New(otelredlock.Config{}), // the global providers
//	})
//
// docs/monitoring.md lists the metrics, the spans and their attributes. alerts.yaml has rules for
// Prometheus, each of which docs/monitoring.md explains, and grafana/redlock.json is a dashboard.
//
// # Concurrency
//
// The functions of the Trace are called in a goroutine of the client, apart from the calls that they
// tell of, so a span processor or an exporter that blocks delays no lock. They may be called by
// several clients at once, and hold no mutex that another of them needs while they call the SDK.
//
// # Errors
//
// New returns no error. If a meter provider refuses an instrument, the error goes to the handler of
// the OpenTelemetry API (otel.SetErrorHandler), and that one metric is missing.
package otelredlock
