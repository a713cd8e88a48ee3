package script

import (
	"fmt"
	"math"
	"slices"
	"time"

	"example.com/redlock/node/script/twin"
)

// clients are in the order of their uuids, and each has a thousand owners: so the order of the
// owners' texts, of which Redis makes the order of equal stamps, is that of their numbers.
var clients = [...]string{"a", "deaf", "hers", "keep"}

// fresh returns a new owner of a client.
func (w *walk) fresh(of string) twin.Owner {
	w.owners++
	o := twin.Owner(slices.Index(clients[:], of)+1)*1000 + w.owners
	if of == "keep" {
		o |= twin.Keeper
	}
	if of != "hers" {
		w.modes[o] = twin.Mode(w.r.IntN(2))
	}
	return o
}

// stranger returns a new owner of one of our clients, of which one keeps locks.
func (w *walk) stranger() twin.Owner {
	return w.fresh([...]string{"a", "deaf", "keep"}[w.r.IntN(3)])
}

// mode is what o asks for: mostly the same.
func (w *walk) mode(o twin.Owner) twin.Mode {
	if w.r.IntN(8) == 0 {
		return twin.Mode(w.r.IntN(2))
	}
	return w.modes[o]
}

// text is an owner as the scripts know it.
func (w *walk) text(o twin.Owner) string {
	switch c := o &^ twin.Keeper / 1000; {
	case o == 0:
		return ""
	case o == twin.Redisson:
		return "redisson"
	case o == twin.Readers:
		return SharedHolder
	case clients[c-1] == "hers":
		return id(fmt.Sprintf("hers:%03d", o%1000))
	case o&twin.Keeper != 0:
		return id(fmt.Sprintf("%s:k%03d", clients[c-1], o&^twin.Keeper%1000))
	default:
		return id(fmt.Sprintf("%s:r%03d", clients[c-1], o%1000))
	}
}

// actor is who does something, and how it has a lock.
type actor struct {
	*Owner
	owner twin.Owner
	mode  twin.Mode
}

// draw draws who does something, and how.
func (w *walk) draw(k int) actor {
	owner := w.somebody(k)
	return w.actor(k, owner, w.mode(owner))
}

func (w *walk) actor(k int, owner twin.Owner, mode twin.Mode) actor {
	return actor{w.asker(k, twin.Entry{Owner: owner, Mode: mode}), owner, mode}
}

// asker is the owner of e, as the scripts know it.
func (w *walk) asker(k int, e twin.Entry) *Owner {
	name, id := w.names[k], w.text(e.Owner)
	if e.Mode == twin.Shared {
		return NewReader(name, id)
	}
	return NewOwner(name, id)
}

// hear is what the twin is told of who listens.
func (w *walk) hear(o twin.Owner) bool {
	if o == twin.Redisson {
		return w.hears["redisson"]
	}
	return w.hears[clients[o&^twin.Keeper/1000-1]]
}

// holders are those who have the k-th.
func (w *walk) holders(k int) (list []twin.Owner) {
	list = append(list, w.locks[k].Holder)
	for _, r := range w.locks[k].Reading {
		list = append(list, r.Owner)
	}
	return slices.DeleteFunc(list, func(o twin.Owner) bool { return o == 0 || o == twin.Readers })
}

// somebody is mostly one who has it, or one who waits or did, or was forced out, or is new.
func (w *walk) somebody(k int) twin.Owner {
	holders, l := w.holders(k), &w.locks[k]
	switch n := w.r.IntN(10); {
	case n < 5 && len(holders) > 0:
		return holders[w.r.IntN(len(holders))]
	case n < 6 && l.Forced[0].Owner != 0:
		return l.Forced[0].Owner
	case n < 7 && l.Queue[0].Owner != 0:
		return l.Queue[0].Owner
	case n < 9 && len(w.asks[k]) > 0:
		return w.asks[k][w.r.IntN(len(w.asks[k]))].Owner
	}
	return w.stranger()
}

// since is when o began to wait; of one that never did it does not matter.
func (w *walk) since(k int, o twin.Owner) int64 {
	if i := slices.IndexFunc(w.asks[k], func(e twin.Entry) bool { return e.Owner == o }); i >= 0 {
		return w.asks[k][i].Since
	}
	return w.r.Int64N(2)
}

// waiter returns an ask: the first of somebody new, the next of one who waits or did, or one that
// was sent before and comes again, perhaps not quite the same.
func (w *walk) waiter(k int) (e twin.Entry) {
	asks, n := w.asks[k], w.r.IntN(10)
	switch {
	case n < 5 && len(asks) > 0:
		e = asks[len(asks)-1-w.r.IntN(min(12, len(asks)))]
		for _, later := range asks {
			if later.Owner == e.Owner {
				e = later
			}
		}
	case n < 7 && len(asks) > 0:
		e = asks[w.r.IntN(len(asks))]
		switch w.r.IntN(4) {
		case 0:
			e.Lease = 100 + w.r.Int64N(300)
		case 1:
			e.Proposal = w.proposal(k)
		}
		e.Mode = w.mode(e.Owner)
		return e
	default:
		e = twin.Entry{Owner: w.stranger(), Since: 30_000 * (1 + w.r.Int64N(4))} // few stamps, so that some are equal
	}
	e.Round++
	e.Mode, e.Lease, e.Proposal = w.mode(e.Owner), 100+w.r.Int64N(300), w.proposal(k)
	e.Polls = w.r.IntN(6) == 0
	w.asks[k] = append(asks, e)
	return e
}

// entry is an ask as the commands take it.
func entry(e twin.Entry) QueueEntry {
	return QueueEntry{Round: uint64(e.Round), Since: e.Since, Lease: millis(e.Lease), Proposal: e.Proposal, Polls: e.Polls}
}

// proposal returns a fencing token near the counter.
func (w *walk) proposal(k int) int64 {
	return w.near(w.locks[k].Counter, 7)
}

// near returns one of n fencing tokens around a counter, unless that is near the end.
func (w *walk) near(counter, n int64) int64 {
	if counter > MaxToken/2 {
		counter = 0
	}
	return max(w.tokens, counter+w.r.Int64N(n)-n/3)
}

// far draws a counter near the last token, or far beyond.
func (w *walk) far() int64 {
	return []int64{MaxToken - 1, MaxToken, MaxToken + 1, MaxToken + 2, math.MaxInt64}[w.r.IntN(5)]
}

// others is what is done to a master by somebody else.
func (w *walk) others(k int) {
	l, key := &w.locks[k], w.names[k]
	switch n := w.r.IntN(10); {
	case n == 0:
		w.do("FLUSHALL")
		w.locks = [2]twin.Lock{}
	case n == 9: // it may be too long for a turn
		l.Turn = w.now() + 1 + w.r.Int64N(60)
		w.do("SET", belonging(turnPrefix, key), 1, "PX", l.Turn-w.now())
	case n == 8:
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
