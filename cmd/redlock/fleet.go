package main

import (
	"fmt"
	"io"
	"log/slog"
	"strings"
	"time"

	"example.com/redlock/redlock"
)

// fleetFlags are what every subcommand needs to know of the masters.
type fleetFlags struct {
	Masters      []string      `required:"" env:"REDLOCK_MASTERS" placeholder:"URL" help:"The independent Redis masters, an odd number of them: redis:// or rediss:// URLs, or host:port. Every process must name the same ones. Passwords belong into the environment variable: others can read a command line."`
	NodeTimeout  time.Duration `env:"REDLOCK_NODE_TIMEOUT" placeholder:"500ms" help:"How long to wait for one master's answer; default: a tenth of the lease, at most 500ms."`
	MaxLease     time.Duration `env:"REDLOCK_MAX_LEASE" placeholder:"LEASE" help:"The longest lease that any process takes on these masters; default: the lease."`
	RestartGuard guard         `env:"REDLOCK_RESTART_GUARD" xor:"guard" placeholder:"MAX-LEASE" help:"How long a master that restarted grants nothing, since it may have forgotten what it granted; off for masters that run with appendfsync always."`
	NoGuard      bool          `name:"no-restart-guard" xor:"guard" help:"The same as --restart-guard=off."`
	Verbose      bool          `short:"v" env:"REDLOCK_VERBOSE" help:"Log to stderr what happens."`
}

// guard is a duration or the word off. The library wants a negative one for off, and takes 0
// for its default, which is not what someone who writes 0 means.
type guard time.Duration

// UnmarshalText reads what the user wrote.
func (g *guard) UnmarshalText(text []byte) error {
	if string(text) == "off" {
		*g = -1
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("%q is neither a duration such as 30s nor off", text)
	}
	if d == 0 {
		d = -1
	}
	*g = guard(d)
	return nil
}

// open returns a client of the masters. It does not wait for the network; what it
// refuses is the user's line.
func (f *fleetFlags) open(lease time.Duration, stderr io.Writer) (*redlock.Client, error) {
	cfg := redlock.Config{
		Masters:      trimmed(f.Masters),
		Lease:        lease,
		MaxLease:     f.MaxLease,
		RestartGuard: time.Duration(f.RestartGuard),
		NodeTimeout:  f.NodeTimeout,
		Logger:       f.logger(stderr),
	}
	if f.NoGuard {
		cfg.RestartGuard = -1
	}
	client, err := redlock.New(cfg)
	if err != nil {
		return nil, fail(exitUsage, "%s", asFlags(err))
	}
	return client, nil
}

// asFlags is err with the flags in place of the fields of redlock.Config that they fill. Only run
// has a flag for the lease.
func asFlags(err error) string {
	return strings.NewReplacer(
		"Config has no Masters and no Pools", "--masters is empty",
		"Config has", "--masters has",
		"Config.Masters", "--masters",
		"Config.NodeTimeout", "--node-timeout",
		"Config.MaxLease", "--max-lease",
		"Config.RestartGuard", "--restart-guard",
		"Config.Lease", "the lease",
	).Replace(err.Error())
}

// openToLook returns a client that takes no lock, so that the lease only has to be long enough
// for the node timeout. It logs nothing unless asked to: what ails a master is in the answers.
func (f *fleetFlags) openToLook(stderr io.Writer) (*redlock.Client, error) {
	lease := f.MaxLease
	if lease == 0 {
		lease = max(defaultLease, 10*f.NodeTimeout)
	}
	if !f.Verbose {
		stderr = io.Discard
	}
	return f.open(lease, stderr)
}

// logger writes warnings, or with --verbose everything.
func (f *fleetFlags) logger(stderr io.Writer) *slog.Logger {
	if f.Verbose {
		return slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return slog.New(newPlainLog(stderr))
}

// trimmed allows blanks after the commas of a list.
func trimmed(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.TrimSpace(s)
	}
	return out
}

// closeWithin closes client and waits for it no longer than limit.
//
// Goroutines: one. It ends when Close returns; after limit the end of the process ends it.
func closeWithin(client *redlock.Client, limit time.Duration) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = client.Close() // what could not be given back ends with its lease
	}()
	select {
	case <-closed:
	case <-time.After(limit):
	}
}
