package redlock

import (
	"maps"
	"sync"
	"time"

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
func New(cfg Config) (*Client, error) { return newClient(cfg, clients.Part{Of: new(clients.Sets)}) }

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
	c := &Client{cfg: cfg, masters: masters, own: own}
	if inNumbers.made(c) {
		cfg.Logger.Warn("redlock: many clients are made and not closed: make one for each process", "clients", manyClients, "within", time.Minute)
	}
	return c, nil
}

// manyClients is how many clients of the same masters a process makes within a minute and does not close before that is
// taken for a leak: each has a connection to every master, and goroutines.
const manyClients = 20

// inNumbers has the clients of this process that are open.
var inNumbers openClients

// openClients are those that were made within the last minute and are not closed, by their first master.
type openClients struct {
	mu  sync.Mutex
	all map[any]*openHere
}

type openHere struct {
	since  map[string]time.Time // by the client's ID
	warned bool
}

// made notes a client, and reports whether to warn: once for each master, as long as there are clients of it.
func (o *openClients) made(c *Client) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = make(map[any]*openHere)
	}
	here := o.all[c.firstMaster()]
	if here == nil {
		here = &openHere{since: make(map[string]time.Time)}
		o.all[c.firstMaster()] = here
	}
	maps.DeleteFunc(here.since, func(_ string, since time.Time) bool { return time.Since(since) > time.Minute })
	here.since[c.ID()] = time.Now()
	warn := len(here.since) >= manyClients && !here.warned
	here.warned = here.warned || warn
	return warn
}

// closed forgets a client.
func (o *openClients) closed(c *Client) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if here := o.all[c.firstMaster()]; here != nil {
		if delete(here.since, c.ID()); len(here.since) == 0 {
			delete(o.all, c.firstMaster())
		}
	}
}

// firstMaster is the URL or the pool of the first master.
func (c *Client) firstMaster() any {
	if len(c.cfg.Pools) > 0 {
		return c.cfg.Pools[0]
	}
	return c.cfg.Masters[0]
}

// Close gives back all holds, whose contexts end with ErrClosed, makes waiting callers return
// ErrClosed, and disconnects. It takes about two NodeTimeouts at most, and half a second more where
// functions of Config.Trace are slow.
//
// The error lists the holds that no majority confirmed to be free; they end with their leases. A
// second Close does nothing.
func (c *Client) Close() error {
	inNumbers.closed(c)
	err := c.masters.Close()
	for _, pool := range c.own {
		_ = pool.Close()
	}
	return err
}
