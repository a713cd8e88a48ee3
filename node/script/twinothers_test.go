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
		w.locks, w.slots = [2]twin.Lock{}, [2]twin.Slots{}
	case w.semaphores:
		w.othersOfSlots(k)
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

// othersOfSlots is others for a semaphore.
func (w *walk) othersOfSlots(k int) {
	name, slots := w.names[k], &w.slots[k].Slots
	switch w.r.IntN(4) {
	case 0:
		w.do("DEL", slotsOf(name))
		if w.r.IntN(2) == 0 {
			w.do("DEL", slotsOf(name)+slotEnds)
		}
		for i := range slots {
			slots[i].Owner, slots[i].Expires = 0, 0
		}
	case 1:
		w.do("DEL", belonging(slotFencePrefix, name))
		for i := range slots {
			slots[i].Counter = 0
		}
	case 2:
		slot := w.r.IntN(twin.MaxSlots)
		slots[slot].Counter = w.far()
		w.do("HSET", belonging(slotFencePrefix, name), slot, slots[slot].Counter)
	}
}
