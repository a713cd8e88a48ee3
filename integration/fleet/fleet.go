package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"

	"github.com/ory/dockertest/v3/docker"

	"example.com/redlock/internal/beside"
)

// Config says what to start. The zero value of each field is its default.
type Config struct {
	Masters int              // how many; no default
	Durable func(i int) bool // whether master i has appendonly with appendfsync always: a restart forgets nothing, else everything. By default none
	Clocks  bool             // the masters' wall clocks can be moved; needs gcc
	Life    time.Duration    // after which a container ends by itself, counted from when it last started; by default an hour

	Settings []string // files and options instead of the arguments above, for redis-server
	Mounts   []string // of the machine's files in the containers: "file:path:ro"

	User, Password string      // of clients; by default no password
	TLS            *tls.Config // of clients; nil: no TLS
}

// Fleet is a set of independent masters.
type Fleet struct {
	id      string // in the label of each container
	engine  *Engine
	cfg     Config
	masters []*Master
	clocks  clocks
}

// Start starts the masters and returns when each answers. After an error nothing is left of them.
//
// Goroutines: one per master, which ends when that master answers or ctx does; Start waits.
func (e *Engine) Start(ctx context.Context, cfg Config) (*Fleet, error) {
	if cfg.Life == 0 {
		cfg.Life = time.Hour
	}
	f := &Fleet{id: strconv.FormatUint(rand.Uint64(), 36), engine: e, cfg: cfg}
	var err error
	if cfg.Clocks {
		if f.clocks, err = newClocks(ctx); err != nil {
			return nil, err
		}
	}
	for i := range cfg.Masters {
		f.masters = append(f.masters, &Master{fleet: f, number: i})
	}
	if err := errors.Join(beside.All(f.masters, func(m *Master) error { return m.begin(ctx) })...); err != nil {
		return nil, errors.Join(fmt.Errorf("starting %d masters: %w", cfg.Masters, err), f.Close())
	}
	return f, nil
}

// Masters returns m1, m2 and so on, in this order.
func (f *Fleet) Masters() []*Master { return f.masters }

// Close removes the masters, whatever their state.
//
// Goroutines: one per container, which ends when that is removed; Close waits.
func (f *Fleet) Close() error {
	// By label, which also finds containers that never started.
	all, err := f.engine.docker.Client.ListContainers(docker.ListContainersOptions{
		All:     true,
		Filters: map[string][]string{"label": {labelFleet + "=" + f.id}},
	})
	errs := append(beside.All(all, func(c docker.APIContainers) error { return remove(f.engine.docker.Client, c.ID) }), err)
	if f.clocks.folder != "" {
		errs = append(errs, os.RemoveAll(f.clocks.folder))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("cleaning up: %w", err)
	}
	return nil
}
