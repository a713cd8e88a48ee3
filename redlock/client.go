package redlock

import (
	"context"
	"log/slog"

	"example.com/redlock/internal/inside"
	"example.com/redlock/multilock"
	"example.com/redlock/multilock/clients"
	"example.com/redlock/multilock/terms"
)

// Client takes locks, on one set of masters or on several: see [New] and [NewSets]. Make it once per
// process.
type Client struct {
	sets      map[string]*set // by ID; that of New is ""
	now, next []string        // IDs of the sets that names are spread over
	prefix    string          // of names at the masters
	log       *slog.Logger
}

var _ Locker = (*Client)(nil)

// Locker is for functions that lock and need not know with what: a [Client] of one set of masters or of several, your
// wrapper around one, or a fake in a test. With [Permits], a call takes a permit of a semaphore instead, so semaphores
// need no type of their own.
//
// A fake embeds Locker and has the methods that the code under test calls. Its Do calls fn, or returns an error, such as
// errors.Join(ErrTaken, &MajorityError{HeldFor: time.Minute}). It can make no [Hold], nor a context with a [Token]: for
// code that needs these, package redlocktest has masters in memory.
type Locker interface {
	Do(ctx context.Context, name string, fn func(context.Context) error, options ...Option) error
	Lock(ctx context.Context, name string, options ...Option) (*Hold, error)
	TryLock(ctx context.Context, name string, options ...Option) (*Hold, error)
}

// New makes a client of one set of masters, and connects to them in the background. It returns an error
// for a Config that cannot work, and not because masters cannot be reached. Call Close when done.
func New(cfg Config) (*Client, error) {
	s, err := newSet(cfg, clients.Part{Of: new(clients.Sets)})
	if err != nil {
		return nil, err
	}
	return &Client{sets: map[string]*set{"": s}, now: []string{""}, prefix: cfg.Prefix, log: s.cfg.Logger}, nil
}

// Close unlocks all holds, whose contexts end with ErrClosed, makes waiting callers return
// ErrClosed, and disconnects. It takes about two NodeTimeouts at most, besides the time that masters which answer need for
// the releases: some seconds for 100,000 holds. If functions of Config.Trace or the handler of
// Config.Logger are slow, it takes half a second more for each of the two, or a NodeTimeout if that is longer.
//
// The error lists the holds that no majority confirmed to be free; they end with their leases. A
// second Close does nothing.
func (c *Client) Close() error { return c.all((*set).close) }

// Ready waits until a majority of the masters of each set would grant a lock, and then returns nil: they
// are connected, their guards have passed, and their clocks are steady. A service calls it when
// it starts, and a health endpoint calls it with a short deadline.
//
// When ctx ends first, it returns a [*MajorityError] that names each master that is not ready and
// says why. It matches ctx's error and ErrNoQuorum, and ErrGuarded where masters restarted lately
// and nothing but time is needed. If so many masters report an error that does not pass by itself
// that no majority is left, it returns such an error at once, without ctx's error. ErrClosed: the
// client was closed.
//
// It writes nothing to the masters, so it does not see what only a write would show: a full memory,
// a missing permission. A master that hangs may still count as ready: for a second while the client holds something and
// 18 s while it is idle, plus Config.NodeTimeout.
//
// It returns a [*ConflictError] if the client takes no lock because established clients use some of its masters in a
// way that conflicts with its own. Those clients stay ready.
//
// Cost: one round trip the first time. The client watches its masters anyway.
func (c *Client) Ready(ctx context.Context) error {
	return c.all(func(s *set) error { return s.masters.Clients.Ready(ctx) })
}

// Package redlockadmin looks at a client from inside.
func init() {
	inside.Info = func(client *terms.ClientInfo) any { return newClientInfo(client) }
	inside.Of = func(client any) inside.Client {
		c := client.(*Client)
		return inside.Client{
			SetsOf: c.setsOf,
			At: func(name string, f func(*multilock.Masters) error) error {
				if err := c.check(name); err != nil {
					return err
				}
				var errs []error
				for _, id := range c.setsOf(name) {
					errs = append(errs, c.in(id, func(s *set) error { return f(s.masters) }))
				}
				return joined(errs)
			},
			All: func(f func(*multilock.Masters) error) error {
				return c.all(func(s *set) error { return f(s.masters) })
			},
		}
	}
}
