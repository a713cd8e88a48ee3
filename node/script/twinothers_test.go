package script

import (
	"fmt"
	"time"

	"example.com/redlock/node/script/twin"
)

// others is what is done to a master by somebody else.
func (w *walk) others(k int) {
	l, key := &w.locks[k], w.names[k]
	switch n := w.r.IntN(10); {
	case n == 0:
		w.do("FLUSHALL")
		w.locks = [2]twin.Lock{}
	case n >= 8:
		l.Counter = w.far()
		w.do("SET", belonging(fencePrefix, key), l.Counter, "PX", 2*time.Hour.Milliseconds())
	case n < 3 && l.Alien:
		w.do("HDEL", key, "name")
		l.Alien = false
		if l.Holder == 0 {
			l.Expires = 0
		}
	case n < 3:
		w.do("HSET", key, "name", "bob")
		l.Alien = true
		if l.Holder == 0 {
			l.Expires = twin.Never
		}
	case n == 3 || l.Expires == 0:
		w.redisson(k)
	case n < 6:
		w.do("PERSIST", key)
		l.Expires = twin.Never
	default:
		w.do("DEL", key)
		l.Holder, l.Count, l.Expires, l.Alien = 0, 0, 0, false
	}
}

// redisson has one of Redisson's clients take a lock that is free, and finds any other taken, also by readers.
func (w *walk) redisson(k int) {
	// As RedissonLock.tryLockInnerAsync has it: nil is a yes, else it is how long the lock is taken.
	const tryLock = `if (redis.call('exists', KEYS[1]) == 0) or (redis.call('hexists', KEYS[1], ARGV[2]) == 1) then ` +
		`redis.call('hincrby', KEYS[1], ARGV[2], 1); redis.call('pexpire', KEYS[1], ARGV[1]); return nil; end; ` +
		`return redis.call('pttl', KEYS[1]);`
	l, o, want := &w.locks[k], w.fresh("hers"), any(nil)
	switch l.Expires {
	case 0:
		l.Holder, l.Count, l.Expires = o, 1, w.now()+500
	case twin.Never:
		want = int64(-1)
	default:
		want = l.Expires - w.now()
	}
	w.did = append(w.did, "Redisson tries "+w.names[k])
	if got, err := w.h.conn.Do("EVAL", tryLock, 1, w.names[k], 500, w.text(o)); got != want || err != nil {
		w.differ = append(w.differ, fmt.Sprintf("Redisson is told %v (%v), want %v", got, err, want))
	}
}
