package redlock

import (
	"github.com/gomodule/redigo/redis"

	"example.com/redlock/multilock"
	"example.com/redlock/multilock/clients"
	"example.com/redlock/redlocktrace"
)

// Trace is a set of functions that a client calls at each step of what it does, for metrics, spans
// and logs. Its fields and their events are in package redlocktrace, which also says when they are
// called and how: see [redlocktrace.Trace].
type Trace = redlocktrace.Trace

// Client takes locks on one set of masters. Make it with New, once per process.
type Client struct {
	cfg     Config
	masters *multilock.Masters
	own     []*redis.Pool // closed with the client
}

// New makes a client, which connects to the masters in the background. New does not fail if masters
// cannot be reached. Call Close when done.
func New(cfg Config) (*Client, error) { return newClient(cfg, clients.Part{}) }

// newClient is New for one of several sets, or for none.
func newClient(cfg Config, part clients.Part) (*Client, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	masters, own, err := cfg.masters()
	if err != nil {
		return nil, err
	}
	if masters.Len() == 2 {
		cfg.Logger.Warn("redlock: two masters survive the loss of neither, since a majority of two is both: use three")
	}
	masters.Spread(part)
	masters.Introduce(cfg.identity())
	masters.Keep(cfg.Keep)
	return &Client{cfg: cfg, masters: masters, own: own}, nil
}

// Close gives back all holds, whose contexts end with ErrClosed, makes waiting callers return
// ErrClosed, and disconnects. It takes about two NodeTimeouts at most, and half a second more where
// functions of Config.Trace are slow.
//
// The error lists the holds that no majority confirmed to be free; they end with their leases. A
// second Close does nothing.
func (c *Client) Close() error {
	err := c.masters.Close()
	for _, pool := range c.own {
		_ = pool.Close()
	}
	return err
}
