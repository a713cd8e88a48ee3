package fleet

import (
	"errors"
	"strconv"

	"github.com/gomodule/redigo/redis"
)

// Fill leaves the server no memory until Drain or a restart: it refuses to store anything, and forgets
// nothing.
func (m *Master) Fill() error {
	return m.with("fill", func(conn redis.Conn) error {
		return errors.Join(configure(conn, "maxmemory-policy", "noeviction"), configure(conn, "maxmemory", "1"))
	})
}

// Evict has the server evict keys, picked at random: the memory is short for a moment, so at least one key goes,
// if there is one. Afterwards the server stores what it is asked to.
func (m *Master) Evict() error { return m.with("evict keys of", evict) }

// Drain undoes what Fill or Evict did.
func (m *Master) Drain() error {
	return m.with("drain", func(conn redis.Conn) error {
		return errors.Join(configure(conn, "maxmemory", "0"), configure(conn, "maxmemory-policy", "noeviction"))
	})
}

// with does something over a new connection.
func (m *Master) with(act string, do func(redis.Conn) error) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	conn, err := m.Dial()
	if err != nil {
		return m.did(act, err)
	}
	defer conn.Close()
	return m.did(act, do(conn))
}

// evict limits the memory to what is in use, and lowers the limit until at least one key is gone, if there are
// any. A server that has too little memory evicts before it runs the next command.
func evict(conn redis.Conn) error {
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
	return configure(conn, "maxmemory", "0")
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
