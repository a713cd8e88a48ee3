// Command example locks a few names again and again, and serves what OpenTelemetry measures of that
// to Prometheus:
//
//	go run . -masters 10.0.0.1,10.0.0.2,10.0.0.3 -listen localhost:2112
//	curl localhost:2112/metrics
//
// Without -masters it starts three in memory.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	otelredlock "example.com/redlock/otel"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		slog.Error("example", "error", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("example", flag.ContinueOnError)
	addresses := flags.String("masters", "", "addresses of masters, separated by commas")
	listen := flags.String("listen", "localhost:2112", "address to serve /metrics at")
	if err := flags.Parse(args); err != nil {
		return err
	}
	var masters []string
	if *addresses != "" {
		masters = strings.Split(*addresses, ",")
	} else {
		fleet := redlocktest.New(3)
		defer fleet.Close()
		masters = fleet.URLs()
	}

	provider, handler, err := telemetry()
	if err != nil {
		return err
	}
	defer provider.Shutdown(context.WithoutCancel(ctx))
	client, err := redlock.New(redlock.Config{
		Masters: masters,
		Logger:  slog.Default(),
		Trace:   otelredlock.New(otelredlock.Config{MeterProvider: provider, Label: prefix}),
	})
	if err != nil {
		return err
	}
	defer client.Close()

	listener, err := net.Listen("tcp", *listen)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.Handle("/metrics", handler)
	server := &http.Server{Handler: mux}
	slog.Info("serving", "url", fmt.Sprintf("http://%s/metrics", listener.Addr()))
	var group sync.WaitGroup
	group.Go(func() { work(ctx, client) })
	group.Go(func() {
		<-ctx.Done()
		_ = server.Close()
	})
	defer group.Wait()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// telemetry makes a meter provider, and a handler that serves its metrics to Prometheus.
func telemetry() (*metric.MeterProvider, http.Handler, error) {
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo())
	if err != nil {
		return nil, nil, err
	}
	return metric.NewMeterProvider(metric.WithReader(exporter)), promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), nil
}

// prefix is what metrics call a lock: "orders" for "orders:42".
func prefix(name string) string {
	before, _, _ := strings.Cut(name, ":")
	return before
}

// work runs a few callers that want the same names.
func work(ctx context.Context, client *redlock.Client) {
	var callers sync.WaitGroup
	for i := range 4 {
		callers.Go(func() {
			for n := i; ctx.Err() == nil; n++ {
				err := client.Do(ctx, fmt.Sprintf("orders:%d", n%3), func(ctx context.Context) error {
					select {
					case <-ctx.Done():
					case <-time.After(20 * time.Millisecond):
					}
					return nil
				})
				if err != nil && ctx.Err() == nil {
					slog.Warn("no lock", "error", err)
				}
			}
		})
	}
	callers.Wait()
}
