package redlock

import (
	"errors"
	"fmt"
	"time"

	"example.com/redlock/multilock"
	"example.com/redlock/node/script"
)

// Option says what one call wants other than the default, which is a lock that nobody else has, renewed
// until Unlock: see [Shared], [Lease] and [Permits].
type Option struct {
	shared  bool
	fixed   bool
	lease   time.Duration
	permits *int
}

// Shared locks for reading: any number of readers hold a name together, but none at the same time as a
// caller that locks it without Shared, a writer.
//
// Readers and writers are served in the order in which they began to wait. A reader behind a
// waiting writer waits too, so neither side starves the other; readers that wait one behind the
// other are let in together. Each reader has a lease of its own: one that dies keeps writers
// waiting only until that lease ends. TryLock returns ErrTaken when a writer has the name, or when readers have it and
// a writer waits.
//
// The token of a reader (see [Hold.Token]) is at least that of every earlier writer and below that
// of every later one; readers may share it. So a resource that refuses a number smaller than one it
// has seen also refuses a reader that does not know yet that it has lost the lock to a writer.
//
// Cost: that of Lock. The readers of one client ask for themselves, each with its own script calls.
// Source: docs/how-it-works.md, "Readers".
func Shared() Option { return Option{shared: true} }

// Lease sets a lease that is not renewed: the hold ends, as lost, when it is over, unless [Hold.Extend] extends it.
// It is in whole milliseconds, rounded down, and at most [Config.MaxLease]. [Client.Close] ends it early, as Unlock does: a
// program that is to keep others away beyond its own end does not call it. If another client's Unlock handed
// the lock over, the lease starts up to 20 ms after Lock returns. Of a name in two sets (see [SetsConfig]), about two
// thirds may be left, as in [Client.LockAll].
//
// A hold that is entered again lasts as long as the longest of those that share it: see [Hold.Enter].
func Lease(lease time.Duration) Option { return Option{fixed: true, lease: lease} }

// Permits takes a permit of the semaphore of that name instead of a lock: at most so many are held at a time, 1 to
// 1000. A permit is a [Hold], with the lease, the watchdog, the context and the errors of one. It has nothing to
// do with a lock of the same name. It cannot be combined with Shared.
//
//	gpus := redlock.Permits(4)
//	err := client.Do(ctx, "gpu", render, gpus)
//
// Each permit is one of the semaphore's slots, and each slot is a lock of its own: [Hold.Slot] says which it is, and
// [Hold.Token] is a fencing token among the permits of that slot, so a resource that refuses stale tokens keeps one
// number for each slot. The masters do not store how many permits there are. Clients that give different numbers, as
// during a rollout, together never hold more permits than the largest of them. In one client, a call that gives a larger
// number may wait behind one that gives a smaller one, though a permit is free.
//
// A waiter stands in the queue of one slot, and is served there in the order in which waiters began to wait.
// It may be overtaken by those that came later and stand at slots that are given back sooner. So the caller of
// each client that has waited the longest looks again every 200 to 400 ms, and stands at one more slot, at
// four at most, where it comes before all that began later. With up to four permits, nobody that began later
// overtakes it when it has waited for 1.2 s; with K, none does so at any slot for longer than K times 0.4 s.
// Of one client, as many callers as there are permits, and 32 at most, stand in queues; the others come after
// them in the order of their calls.
//
// Each call takes one more permit, even under the context of another, so a caller that takes several may end up
// waiting for itself. TryLock tries the slot that the client gave back last. If that is taken, it looks which slots are
// free, and tries up to four of these, and looks again, three times at most: where more callers than permits try at the
// same time, it may be refused though a permit is free. A call that comes to a slot whose key is no lock fails, though
// others may be free.
//
// Cost: that of Lock if the slot is free that the client gave back last. Otherwise two round trips more, and while the
// caller waits one script call on each master as often as Lock, for each slot at which it stands.
// Source: docs/how-it-works.md, "Permits".
func Permits(n int) Option { return Option{permits: &n} }

// wanted returns what a caller wants of name, or why nobody can have that.
func wanted(name string, options []Option) (multilock.Request, error) {
	req := multilock.Request{Key: name, Watch: true}
	for _, o := range options {
		req.Shared = req.Shared || o.shared
		if o.fixed {
			req.Watch, req.Lease = false, o.lease
		}
		if o.permits == nil {
			continue
		}
		if req.Permits = *o.permits; req.Permits < 1 || req.Permits > script.MaxPermits {
			return req, fmt.Errorf("redlock: %d permits of %q: a semaphore has 1 to %d", req.Permits, name, script.MaxPermits)
		}
	}
	if req.Shared && req.Permits > 0 {
		return req, errors.New("redlock: Shared and Permits do not go together")
	}
	return req, nil
}
