package redlock

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/gomodule/redigo/redis"
	"github.com/hashicorp/go-multierror"

	"example.com/redlock/multilock"
)

// Client takes locks on one set of masters. Make it with New, once per process.
type Client struct {
	cfg     Config
	masters *multilock.Masters
	own     []*redis.Pool // closed with the client
	dog     *watchdog
	done    chan struct{} // closed by Close

	mu     sync.Mutex
	closed bool
	tries  sync.WaitGroup   // acquires under way; Add with mu held and closed unset
	holds  map[string]*held // by name: only one at a time is valid
	lines  map[string]*line // callers that wait, by name
}

// New makes a client and begins to connect to the masters in the background: it does
// not fail because masters cannot be reached. Close must be called.
func New(cfg Config) (*Client, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	masters, own, err := cfg.masters()
	if err != nil {
		return nil, err
	}
	c := &Client{
		cfg:     cfg,
		masters: masters,
		own:     own,
		done:    make(chan struct{}),
		holds:   make(map[string]*held),
		lines:   make(map[string]*line),
	}
	if masters.Len() == 2 {
		cfg.Logger.Warn("redlock: two masters survive the loss of neither, since a majority of two is both: use three")
	}
	c.dog = newWatchdog(c.renew, c.rouse)
	return c, nil
}

// Close gives back all holds, whose contexts end with ErrClosed, lets waiting callers
// return ErrClosed, and disconnects. It takes about two NodeTimeouts at most.
//
// The error lists the holds that no majority confirmed to be free: they end with their
// leases. A second Close does nothing.
func (c *Client) Close() error {
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return nil
	}
	c.closed = true
	close(c.done)
	c.mu.Unlock()

	c.dog.close()
	c.tries.Wait() // now holds does not grow any more, and each try is rolled back

	c.mu.Lock()
	holds := make([]*held, 0, len(c.holds))
	for _, h := range c.holds {
		holds = append(holds, h)
	}
	c.mu.Unlock()
	returns := make([]*multilock.Return, 0, len(holds))
	for _, h := range holds {
		if r := h.end(ErrClosed); r != nil {
			returns = append(returns, r)
		}
		<-h.ended() // where somebody else ends it at this moment, its release must be sent
	}
	unconfirmed := &multierror.Error{ErrorFormat: closing}
	for _, r := range returns {
		if err := r.Wait(context.Background()); err != nil {
			unconfirmed = multierror.Append(unconfirmed, err)
		}
	}
	c.masters.Close()
	for _, pool := range c.own {
		_ = pool.Close()
	}
	return unconfirmed.ErrorOrNil()
}

// begin counts a try at the masters, unless the client is closed. tries.Done ends it.
func (c *Client) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.tries.Add(1)
	return true
}

// adopt puts h among the client's holds and wakes the waiting callers that share its
// owner: they enter it. It returns a hold of the same name that it replaces: one whose
// validity has ended, since the masters granted h, but whose timer has yet to say so.
func (c *Client) adopt(h *held) (ended *held) {
	c.mu.Lock()
	defer c.mu.Unlock()
	ended = c.holds[h.name]
	c.holds[h.name] = h
	h.owner.add(h)
	if l := c.lines[h.name]; l != nil {
		l.wakeOwner(h.owner)
	}
	return ended
}

// forget is the end of adopt.
func (c *Client) forget(h *held) {
	h.owner.drop(h)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.holds[h.name] == h {
		delete(c.holds, h.name)
	}
}

// rouse ends the holds whose validity ended while the machine was suspended: their timers
// stood still.
func (c *Client) rouse() {
	c.mu.Lock()
	holds := slices.Collect(maps.Values(c.holds))
	c.mu.Unlock()
	for _, h := range holds {
		h.check()
	}
}

// holding returns the client's hold of name, nil if it has none.
func (c *Client) holding(name string) *held {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.holds[name]
}
