package fleet

import (
	"errors"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"
)

// evictEvery is the time between two shortages of Evict.
const evictEvery = 100 * time.Millisecond

// memory is what Fill and Evict have changed, and Drain restores.
type memory struct {
	limit, policy string // usually; "": nothing was changed
	stop          func() // ends the goroutine of Evict and waits; nil: there is none
}

// Fill leaves the server no memory until Drain or a restart: it refuses to store anything, and forgets
// nothing.
func (m *Master) Fill() error {
	return m.did("fill", m.starve(func(conn redis.Conn) error {
		return errors.Join(configure(conn, "maxmemory-policy", "noeviction"), configure(conn, "maxmemory", "1"))
	}))
}

// Evict has the server evict keys, picked at random, now and ten times a second until Drain: the memory is
// short for a moment, so at least one key goes, if there is one. In between, the server stores what it is
// asked to.
//
// Goroutines: one, which Drain and Fleet.Close end and wait for.
func (m *Master) Evict() error {
	return m.did("evict keys of", m.starve(func(conn redis.Conn) error {
		usual := m.memory.limit
		if err := evict(conn, usual); err != nil {
			return err
		}
		done, ended := make(chan struct{}), make(chan struct{})
		m.memory.stop = func() { close(done); <-ended }
		go func() {
			defer close(ended)
			tick := time.NewTicker(evictEvery)
			defer tick.Stop()
			for {
				select {
				case <-done:
					return
				case <-tick.C:
				}
				if conn, err := m.Dial(); err == nil { // the server may be down for now
					_ = evict(conn, usual)
					conn.Close()
				}
			}
		}()
		return nil
	}))
}

// starve takes memory away, after what was taken before is given back.
func (m *Master) starve(take func(redis.Conn) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	conn, err := m.Dial()
	if err != nil {
		return err
	}
	defer conn.Close()
	if err := m.giveBackLocked(conn); err != nil {
		return err
	}
	limit, err := configured(conn, "maxmemory")
	policy, wrong := configured(conn, "maxmemory-policy")
	if err := errors.Join(err, wrong); err != nil {
		return err
	}
	m.memory.limit, m.memory.policy = limit, policy
	return take(conn)
}

// Drain undoes what Fill or Evict did.
func (m *Master) Drain() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.endEvictionLocked()
	conn, err := m.Dial()
	if err == nil {
		err = m.giveBackLocked(conn)
		conn.Close()
	}
	return m.did("drain", err)
}

func (m *Master) giveBackLocked(conn redis.Conn) error {
	m.endEvictionLocked()
	if m.memory.limit == "" {
		return nil
	}
	return errors.Join(configure(conn, "maxmemory", m.memory.limit), configure(conn, "maxmemory-policy", m.memory.policy))
}

// endEvictionLocked waits for Evict's goroutine, which does not need m.mu.
func (m *Master) endEvictionLocked() {
	if m.memory.stop != nil {
		m.memory.stop()
		m.memory.stop = nil
	}
}

// evict limits the memory to what is in use, and lowers the limit until at least one key is gone, if there are
// any. Then the usual limit applies again. A server that has too little memory evicts before it runs the
// next command.
func evict(conn redis.Conn, usual string) error {
	if err := configure(conn, "maxmemory-policy", "allkeys-random"); err != nil {
		return err
	}
	used, evicted, err := memoryOf(conn)
	if err != nil {
		return err
	}
	limit, step := used, 1<<10
	for keys, gone := 1, false; keys > 0 && !gone; limit, step = limit-step, step+1<<10 {
		if limit <= 0 {
			return errors.New("it evicts nothing")
		}
		if err := configure(conn, "maxmemory", strconv.Itoa(limit)); err != nil {
			return err
		}
		if keys, err = redis.Int(conn.Do("DBSIZE")); err != nil {
			return err
		}
		_, now, err := memoryOf(conn)
		if err != nil {
			return err
		}
		gone = now > evicted
	}
	return configure(conn, "maxmemory", usual)
}

// memoryOf returns how much memory a server uses, and how many keys it has evicted.
func memoryOf(conn redis.Conn) (used, evicted int, err error) {
	info, err := info(conn)
	if err != nil {
		return 0, 0, err
	}
	used, err = strconv.Atoi(info["used_memory"])
	evicted, wrong := strconv.Atoi(info["evicted_keys"])
	return used, evicted, errors.Join(err, wrong)
}

// configure changes a setting of a server.
func configure(conn redis.Conn, name, value string) error {
	_, err := conn.Do("CONFIG", "SET", name, value)
	return err
}

// configured returns a setting of a server.
func configured(conn redis.Conn, name string) (string, error) {
	settings, err := redis.StringMap(conn.Do("CONFIG", "GET", name))
	return settings[name], err
}
