package redlock

import (
	"log/slog"
	"maps"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/logger"
	"example.com/redlock/multilock"
	"example.com/redlock/multilock/clients"
)

// set is one set of masters of a client.
type set struct {
	cfg     Config
	masters *multilock.Masters
	own     []*redis.Pool // closed with the client
	log     *logger.Handler
	closed  atomic.Bool // close was called
}

// newSet makes a set, which is part of a client as part says.
func newSet(cfg Config, part clients.Part) (*set, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	log := logger.New(cfg.Logger.Handler(), cfg.patience())
	cfg.Logger = slog.New(log)
	masters, own, err := cfg.masters()
	if err != nil {
		return nil, err
	}
	if masters.All.Len() == 2 {
		cfg.Logger.Warn("redlock: two masters survive the loss of neither, since a majority of two is both: use three")
	}
	masters.Clients.Introduce(cfg.identity(), part)
	masters.Keep(cfg.Keep)
	s := &set{cfg: cfg, masters: masters, own: own, log: log}
	if inNumbers.made(s) {
		cfg.Logger.Warn("redlock: many clients are made and not closed: make one for each process", "clients", manyClients, "within", time.Minute)
	}
	return s, nil
}

// close closes the set. A second call does nothing, since the first one may still need the pools.
func (s *set) close() error {
	if s.closed.Swap(true) {
		return nil
	}
	inNumbers.closed(s)
	err := s.masters.Close()
	for _, pool := range s.own {
		_ = pool.Close()
	}
	s.log.Close()
	return err
}

// manyClients bounds how many clients of the same masters a process can make within a minute, and not close, before the
// library warns: each has goroutines, and a connection to every master.
const manyClients = 20

// inNumbers counts the clients of this process.
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
func (o *openClients) made(s *set) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.all == nil {
		o.all = make(map[any]*openHere)
	}
	here := o.all[s.firstMaster()]
	if here == nil {
		here = &openHere{since: make(map[string]time.Time)}
		o.all[s.firstMaster()] = here
	}
	here.since[s.masters.All.ID] = time.Now()
	if here.warned {
		return false // it does not matter any more how many there are
	}
	maps.DeleteFunc(here.since, func(_ string, since time.Time) bool { return time.Since(since) > time.Minute })
	here.warned = len(here.since) >= manyClients
	return here.warned
}

// closed forgets a client.
func (o *openClients) closed(s *set) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if here := o.all[s.firstMaster()]; here != nil {
		if delete(here.since, s.masters.All.ID); len(here.since) == 0 {
			delete(o.all, s.firstMaster())
		}
	}
}

// firstMaster is the URL or the pool of the first master.
func (s *set) firstMaster() any {
	if len(s.cfg.Pools) > 0 {
		return s.cfg.Pools[0]
	}
	return s.cfg.Masters[0]
}
