package redlock

import (
	"context"
	"fmt"
	"time"

	"example.com/redlock/multilock/inspect"
	"example.com/redlock/node/script"
)

// Semaphore limits how many callers in the whole fleet hold a permit of one name at a time. Make it
// with [Client.Semaphore]. It has no state, so it need not be kept.
//
// Each permit is one of the semaphore's slots, and each slot is a lock of its own. Leases, the watchdog,
// contexts and errors are those of a lock.
type Semaphore struct {
	at      where
	name    string
	permits int
}

// where is a Client or Sets: where permits are taken.
type where interface {
	lock(ctx context.Context, w want) (*Hold, error)
	inspectPermits(ctx context.Context, name string) (SemaphoreInspection, error)
	forcePermits(ctx context.Context, name string, slot int) (freed bool, err error)
}

// Semaphore returns the semaphore name with the given number of permits, 1 to 1000; any number will do
// if it is only inspected and released by force. It has nothing to do with a lock of the same name. Its
// methods return an error if name or permits is not valid.
//
// The masters do not store how many permits there are. Clients that give different numbers, as
// during a rollout, together never hold more permits than the largest of them.
func (c *Client) Semaphore(name string, permits int) *Semaphore { return &Semaphore{c, name, permits} }

// Name returns the name of the semaphore.
func (s *Semaphore) Name() string { return s.name }

// Permits returns how many permits there are, as this client counts them.
func (s *Semaphore) Permits() int { return s.permits }

// Acquire takes a permit, and waits until there is one or ctx ends. A watchdog renews the permit, and
// [Hold.Unlock] hands it to a waiter, in one message.
//
// A waiter stands in the queue of one slot, and is served there in the order in which waiters began to wait.
// It may be overtaken by those that came later and stand at slots that are given back sooner. So the caller of
// each client that has waited the longest looks again every 200 to 400 ms, and stands at one more slot, at
// four at most, where it comes before all that began later. With up to four permits, nobody that began later
// overtakes it when it has waited for 1.2 s; with K, none does so at any slot for longer than K times 0.4 s.
// Of one client, as many callers as there are permits, and 32 at most, stand in queues; the others come after
// them in the order of their calls.
//
// Permits are not re-entrant: each Acquire takes one more, even under the context of another
// permit. So a caller that takes several may end up waiting for itself.
//
// [Hold.Slot] says which slot the permit is, and [Hold.Token] is a fencing token among the permits
// of that slot: a resource that refuses stale tokens keeps one number for each slot.
//
// The errors are those of [Client.Lock]. Cost: that of Lock if the slot is free that the client gave back
// last. Otherwise two round trips more, and while the caller waits one script call on each master as often as
// Lock, for each slot at which it stands. Source: docs/how-it-works.md, "Permits".
func (s *Semaphore) Acquire(ctx context.Context) (*Hold, error) {
	return s.acquire(ctx, want{watch: true, wait: true})
}

// TryAcquire is Acquire without waiting: ErrTaken when no permit is free, ErrNoQuorum when too few
// masters answer within Config.NodeTimeout.
//
// It tries the slot that the client gave back last. If that is taken, it looks which slots are free, and tries
// up to four of these, and looks again, three times at most: where more callers than permits try at the same
// time, it may be refused though a permit is free. Cost: one round trip, two if no permit is free.
func (s *Semaphore) TryAcquire(ctx context.Context) (*Hold, error) {
	return s.acquire(ctx, want{watch: true})
}

// AcquireFor is Acquire with a fixed lease: see [Client.LockFor].
func (s *Semaphore) AcquireFor(ctx context.Context, lease time.Duration) (*Hold, error) {
	return s.acquire(ctx, want{lease: lease, wait: true})
}

// TryAcquireFor is TryAcquire with a fixed lease: see [Client.LockFor].
func (s *Semaphore) TryAcquireFor(ctx context.Context, lease time.Duration) (*Hold, error) {
	return s.acquire(ctx, want{lease: lease})
}

// Do is [Client.Do] with Acquire: it takes a permit, runs fn, and gives the permit back. [PermitSlot] tells
// fn, by its context, which slot it is.
func (s *Semaphore) Do(ctx context.Context, fn func(context.Context) error) error {
	if err := s.check(); err != nil {
		return err
	}
	return do(ctx, s.at, want{name: s.name, permits: s.permits}, fn)
}

// SemaphoreInspection is what the masters say of a semaphore.
type SemaphoreInspection struct {
	Name    string
	Slots   []Slot           // that a majority of the masters gave to the same owner, by number
	Masters []SemaphoreState // in the order of Config
}

// SemaphoreState is what one master says of a semaphore.
type SemaphoreState struct {
	Master string        // host and port
	Slots  []Slot        // that somebody has there, by number
	Queue  []Waiter      // at most 100: the first of each slot, then the second, and so on
	Guard  time.Duration // above 0: the master restarted, and grants no permits for this long
	Err    error         // why there is no answer
}

// Slot is a slot of a semaphore that somebody has.
type Slot struct {
	Slot   int
	Owner  string        // "uuid:rN"
	Client *ClientInfo   // whose owner it is; nil if it has no record
	Left   time.Duration // until it is free
	Token  int64         // fencing counter of the slot
}

// Inspect says who has permits of the semaphore and who waits for one, without taking one. Its error is
// that of [Client.Inspect]. Cost: that of it, and one script call on each master for each slot that somebody
// has or waits for; up to 128 of these are asked at the same time.
func (s *Semaphore) Inspect(ctx context.Context) (SemaphoreInspection, error) {
	if err := checkName(s.name); err != nil {
		return SemaphoreInspection{Name: s.name}, err
	}
	return s.at.inspectPermits(ctx, s.name)
}

func (c *Client) inspectPermits(ctx context.Context, name string) (SemaphoreInspection, error) {
	in := SemaphoreInspection{Name: name}
	look, err := inspect.Permits(ctx, c.masters.Directory, name)
	who := c.clientsOf(ctx, look)
	in.Slots = slots(look.Slots, who)
	in.Masters = make([]SemaphoreState, len(look.Views))
	for i, v := range look.Views {
		in.Masters[i] = SemaphoreState{
			Master: v.Master, Slots: slots(v.Slots, who), Queue: waiters(v.Queue, who), Guard: v.Guard, Err: v.Err,
		}
	}
	return in, err
}

func slots(taken []inspect.Slot, who map[string]*ClientInfo) (list []Slot) {
	for _, s := range taken {
		list = append(list, Slot{Slot: s.Slot, Owner: s.Owner, Client: who[s.Owner], Left: s.Left, Token: s.Token})
	}
	return list
}

// ForceRelease frees all permits on every master that answers, whoever has them, and reports whether
// somebody had any: see [Client.ForceUnlock].
func (s *Semaphore) ForceRelease(ctx context.Context) (freed bool, err error) {
	return s.force(ctx, -1)
}

// ForceReleaseSlot is ForceRelease for the permit of one slot, as [Semaphore.Inspect] tells it. Of a name that moves
// between [Sets], that is the permit in the first set in which somebody has the slot: a holder of both loses both.
func (s *Semaphore) ForceReleaseSlot(ctx context.Context, slot int) (freed bool, err error) {
	if slot < 0 || slot >= script.MaxPermits {
		return false, fmt.Errorf("redlock: semaphore %q has no slot %d: slots are 0 to %d", s.name, slot, script.MaxPermits-1)
	}
	return s.force(ctx, slot)
}

// force releases a slot, or all if that is below 0.
func (s *Semaphore) force(ctx context.Context, slot int) (freed bool, err error) {
	if err := checkName(s.name); err != nil {
		return false, err
	}
	return s.at.forcePermits(ctx, s.name, slot)
}

func (c *Client) forcePermits(ctx context.Context, name string, slot int) (freed bool, err error) {
	if slot < 0 {
		return inspect.ForceSlots(ctx, c.masters.Directory, name)
	}
	return inspect.ForceSlot(ctx, c.masters.Masters, name, slot)
}

func (s *Semaphore) acquire(ctx context.Context, w want) (*Hold, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	w.name, w.permits = s.name, s.permits
	return s.at.lock(ctx, w)
}

// check refuses names and permits that no semaphore can have.
func (s *Semaphore) check() error {
	if err := checkName(s.name); err != nil {
		return err
	}
	if s.permits < 1 || s.permits > script.MaxPermits {
		return fmt.Errorf("redlock: semaphore %q has %d permits: a semaphore has 1 to %d", s.name, s.permits, script.MaxPermits)
	}
	return nil
}

// Slot returns which slot of its semaphore a permit is, from 0, and below the largest number of
// permits that any client gives. It is 0 for a lock.
func (h *Hold) Slot() int { return h.h.Slot() }

// PermitSlot returns the slot of the innermost permit under whose context ctx is, and false if there is none:
// see [Hold.Slot].
func PermitSlot(ctx context.Context) (slot int, ok bool) {
	for w := windowOf(ctx); w != nil; w = windowOf(w.values) {
		if e := w.entry; e != nil && e.name == "" {
			return e.hold.Load().Slot(), true
		}
	}
	return 0, false
}
