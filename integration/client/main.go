// Command client is a client process of a trial. It takes locks with package redlock: see package
// workload.
package main

import (
	"log/slog"

	"example.com/redlock/integration/workload"
	"example.com/redlock/redlock"
)

func main() { workload.Main(open) }

func open(cfg workload.Config) (workload.Locker, error) {
	client, err := redlock.New(redlock.Config{
		Masters:      cfg.Masters,
		Lease:        cfg.Lease,
		MaxLease:     cfg.MaxLease,
		RestartGuard: cfg.Guard,
		NodeTimeout:  cfg.NodeTimeout,
		Name:         cfg.Who,
		Keep:         cfg.Keep,
		Logger:       slog.New(slog.DiscardHandler),
		Trace:        workload.TraceQueue(cfg.Tell),
	})
	return workload.Of(client, cfg.Lease), err
}
