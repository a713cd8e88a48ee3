package integration

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	containers "example.com/redlock/integration/fleet"
	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
)

// fleet is a set of independent masters that belongs to one test.
type fleet struct {
	t       *testing.T
	masters []*master
}

// master is one Redis in a container of its own, as a test reaches it.
type master struct {
	*containers.Master
	user, password string // that the test logs in with
	tls            *tls.Config
}

// begin gives a test its deadline, which is far on any machine that does anything at all.
func begin(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// startFleet starts masters, waits until each answers, and removes them when the test ends.
func startFleet(ctx context.Context, t *testing.T, cfg containers.Config) *fleet {
	t.Helper()
	started, err := machine.engine.Start(ctx, cfg)
	check.OK(t, err)
	t.Cleanup(func() { check.OK(t, started.Close()) })
	f := &fleet{t: t}
	for _, m := range started.Masters() {
		f.masters = append(f.masters, &master{m, cfg.User, cfg.Password, cfg.TLS})
	}
	return f
}

// client opens a client of the whole fleet, with what config fills in, and closes it when the test ends.
func (f *fleet) client(cfg redlock.Config) *redlock.Client {
	f.t.Helper()
	client, err := redlock.New(f.config(cfg))
	if err != nil {
		f.t.Fatalf("New(%v) = %v", cfg.Masters, err)
	}
	f.t.Cleanup(func() { client.Close() })
	return client
}

// config fills in Masters and Logger, and turns RestartGuard off unless the test sets it, since these
// masters have just started. A busy machine may take long to answer, up to half a lease.
func (f *fleet) config(cfg redlock.Config) redlock.Config {
	if cfg.Masters == nil {
		cfg.Masters = f.urls()
	}
	if cfg.RestartGuard == 0 {
		cfg.RestartGuard = redlock.GuardOff
	}
	if cfg.NodeTimeout == 0 {
		cfg.NodeTimeout = min(cmp.Or(cfg.Lease, time.Minute)/2, 5*time.Second)
	}
	cfg.Logger = slog.New(slog.NewTextHandler(f.t.Output(), nil))
	return cfg
}

// urls are where clients connect.
func (f *fleet) urls() (urls []string) {
	for _, m := range f.masters {
		scheme, user := "redis", ""
		if m.tls != nil {
			scheme = "rediss"
		}
		if m.password != "" {
			user = m.user + ":" + m.password + "@"
		}
		urls = append(urls, scheme+"://"+user+m.Addr())
	}
	return urls
}

// try sends one command on a new connection, as the user that the test logs in with.
func (m *master) try(command string, args ...any) (any, error) {
	conn, err := m.Dial(redis.DialUsername(m.user), redis.DialPassword(m.password))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return conn.Do(command, args...)
}

// do is try for a master that must answer.
func (m *master) do(t *testing.T, command string, args ...any) any {
	t.Helper()
	reply, err := m.try(command, args...)
	check.OK(t, err, "%s: %s %v", m.Name(), command, args)
	return reply
}

// info returns what INFO tells.
func (m *master) info(t *testing.T, section ...any) map[string]string {
	t.Helper()
	told, err := m.Info(section...)
	check.OK(t, err)
	return told
}

// eventually calls check until it returns nil, and fails the test if that takes far longer than it does on a slow
// machine.
func eventually(ctx context.Context, t *testing.T, what string, check func() error) {
	t.Helper()
	const limit = 3 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: not within %v: %v", what, limit, err)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// mustLock and mustUnlock are for calls that a test expects to succeed.
func mustLock(ctx context.Context, t *testing.T, client *redlock.Client, name string) *redlock.Hold {
	t.Helper()
	hold, err := client.Lock(ctx, name)
	if err != nil {
		t.Fatalf("Lock(%q) = %v, want a hold", name, err)
	}
	return hold
}

func mustUnlock(ctx context.Context, t *testing.T, hold *redlock.Hold) {
	t.Helper()
	check.OK(t, hold.Unlock(ctx), "Unlock(%q)", hold.Name())
}

// renewed waits until a hold has been renewed by what was sent from now on: it is valid for longer than a lease from now.
// It returns why the hold ended if it does.
func renewed(ctx context.Context, hold *redlock.Hold, lease time.Duration) error {
	for now := time.Now(); hold.Until().Before(now.Add(lease)); {
		select {
		case <-hold.Context().Done():
			return fmt.Errorf("hold of %q ended: %w", hold.Name(), context.Cause(hold.Context()))
		case <-ctx.Done():
			return fmt.Errorf("hold of %q is not renewed beyond %v: %w", hold.Name(), hold.Until(), ctx.Err())
		case <-time.After(10 * time.Millisecond):
		}
	}
	return nil
}

// wantFree waits until no master has a name. What a client releases reaches each master soon.
func (f *fleet) wantFree(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	eventually(ctx, t, "nothing is left of "+name, func() (left error) {
		for _, m := range f.masters {
			if there, err := redis.Bool(m.try("EXISTS", name)); there || err != nil {
				left = errors.Join(left, fmt.Errorf("%s: EXISTS = %v, %w", m.Name(), there, err))
			}
		}
		return left
	})
}

// has returns nil if the masters have a hold once, as Redisson would write it.
func (f *fleet) has(hold *redlock.Hold) error {
	for _, m := range f.masters {
		fields, err := redis.IntMap(m.try("HGETALL", hold.Name()))
		if err != nil || len(fields) != 1 || fields[hold.Owner()] != 1 {
			return fmt.Errorf("%s: HGETALL = %v, %v, want %s: 1 alone", m.Name(), fields, err, hold.Owner())
		}
	}
	return nil
}
