package redlockadmin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"example.com/redlock/internal/beside"
	"example.com/redlock/multilock"
	"example.com/redlock/multilock/clients"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
	"example.com/redlock/redlock"
)

// SemaphoreInspection is what the masters say of a semaphore.
type SemaphoreInspection struct {
	Name    string
	Slots   []Slot           // that a majority of the masters gave to the same owner, by number
	Masters []SemaphoreState // in the order of redlock.Config
}

// SemaphoreState is what one master says of a semaphore.
type SemaphoreState struct {
	Master string        // host and port
	Slots  []Slot        // that somebody has there, by number
	Queue  []Waiter      // at most 100: the first of each slot, then the second, and so on
	Guard  time.Duration // above 0: the master restarted, and grants no permits for this long, by the longest guard of those who lock
	Err    error         // why there is no answer
}

// Slot is a slot of a semaphore that somebody has.
type Slot struct {
	Number    int
	Owner     string              // "uuid:rN"
	Client    *redlock.ClientInfo // whose owner it is; nil if it has no record
	Remaining time.Duration       // until it is free
	HeldFor   time.Duration       // how long its owner has had it; 0 if that is not known, as in a SemaphoreState
	Token     int64               // fencing counter of the slot
}

// InspectSemaphore says who has permits of a semaphore, see [redlock.Permits], and who waits for one, without taking
// one. Of a name that moves between sets of masters, it has the slots of both, one set after the other.
//
// Cost: that of Inspect, and one script call on each master for each slot that somebody has or waits for; up to 128
// of these are asked at the same time.
func (a *Admin) InspectSemaphore(ctx context.Context, name string) (SemaphoreInspection, error) {
	in := SemaphoreInspection{Name: name}
	err := a.client.At(name, func(m *multilock.Masters) error {
		one, err := permits(ctx, m.Clients, name)
		var who owners
		who.addSlots(one.Slots)
		for _, s := range one.Masters {
			who.addSlots(s.Slots)
			who.addWaiters(s.Queue)
		}
		who.find(ctx, m.Clients)
		in.Slots, in.Masters = append(in.Slots, one.Slots...), append(in.Masters, one.Masters...)
		return err
	})
	return in, err
}

func (o *owners) addSlots(all []Slot) {
	for i := range all {
		o.add(all[i].Owner, &all[i].Client)
	}
}

// maxWaiters is how many waiters of a semaphore are told of each master.
const maxWaiters = 100

// permits is look for the slots of a semaphore, which are locks.
func permits(ctx context.Context, d *clients.Directory, name string) (in SemaphoreInspection, err error) {
	masters, slots, err := taken(ctx, d, name)
	for _, s := range masters {
		in.Masters = append(in.Masters, SemaphoreState{Master: s.Master, Guard: s.Guard, Err: s.Err})
	}
	if err != nil {
		return in, err
	}
	seats := make([]*seat, len(slots))
	for i, slot := range slots {
		seats[i] = &seat{number: slot}
	}
	err = each(seats, func(s *seat) error {
		one, err := look(ctx, d, name, script.SlotKey(name, s.number))
		if err == nil {
			s.Inspection = one
		} else if why, ok := errors.AsType[*poll.MajorityError](err); ok && why.Hopeless {
			return nil // another program's
		}
		return err
	})
	for _, one := range seats {
		held := Slot{Number: one.number, Owner: one.Holder, Remaining: one.Remaining, HeldFor: one.HeldFor}
		for k, s := range one.Masters {
			if state := &in.Masters[k]; s.Holder != "" {
				state.Slots = append(state.Slots, Slot{Number: one.number, Owner: s.Holder, Remaining: s.Remaining, Token: s.Token})
			}
			if s.Holder == one.Holder {
				held.Token = max(held.Token, s.Token)
			}
		}
		if one.Held {
			in.Slots = append(in.Slots, held)
		}
	}
	for place, more := 0, true; more; place++ {
		more = false
		for _, one := range seats {
			for k, m := range one.Masters {
				if from, to := m.Queue, &in.Masters[k].Queue; place < len(from) && len(*to) < maxWaiters {
					w := from[place]
					w.Slot, more = one.number, true
					*to = append(*to, w)
				}
			}
		}
	}
	return in, err
}

// seat is a slot of a semaphore, and what the masters say of its lock; nothing if it is another program's.
type seat struct {
	number int
	Inspection
}

// taken returns which slots of a semaphore somebody has or waits for at any master, and which masters answered.
func taken(ctx context.Context, d *clients.Directory, name string) (masters []MasterState, slots []int, err error) {
	masters, b, err := ask(ctx, d, name, script.Look(name, script.MaxPermits))
	if err != nil {
		return masters, nil, err
	}
	for _, a := range b.Answers {
		for _, s := range a.Slots {
			slots = append(slots, s.Slot)
		}
	}
	slices.Sort(slots)
	return masters, slices.Compact(slots), nil
}

// atOnce is how many slots or names are asked for at the same time.
const atOnce = 128

// each does for all of list, atOnce at a time, and returns the first error.
func each[T any](list []T, do func(T) error) (err error) {
	for part := range slices.Chunk(list, atOnce) {
		err = cmp.Or(err, cmp.Or(beside.All(part, do)...))
	}
	return err
}

// ForceRelease frees all permits of a semaphore on every master that answers, whoever has them, and reports whether
// somebody had any: see [Admin.ForceUnlock]. Its error names a slot that it could not free; it has tried the others.
func (a *Admin) ForceRelease(ctx context.Context, name string) (freed bool, err error) {
	var some atomic.Bool
	err = a.client.At(name, func(m *multilock.Masters) error {
		_, slots, err := taken(ctx, m.Clients, name)
		if err != nil {
			return err
		}
		return each(slots, func(slot int) error {
			one, err := forceSlot(ctx, m, name, slot)
			if one {
				some.Store(true)
			}
			return err
		})
	})
	return some.Load(), err
}

// ForceReleaseSlot is ForceRelease for the permit of one slot, by its Number. Of a name that moves between sets of
// masters, that is the permit in the first set in which somebody has the slot: a holder of both loses both. In the other
// set, the slot of that number is somebody else's.
func (a *Admin) ForceReleaseSlot(ctx context.Context, name string, slot int) (freed bool, err error) {
	if slot < 0 || slot >= script.MaxPermits {
		return false, fmt.Errorf("redlock: semaphore %q has no slot %d: slots are 0 to %d", name, slot, script.MaxPermits-1)
	}
	var failed error
	err = a.client.At(name, func(m *multilock.Masters) error {
		if !freed && failed == nil {
			freed, failed = forceSlot(ctx, m, name, slot)
			return failed
		}
		return nil
	})
	return freed, err
}

func forceSlot(ctx context.Context, m *multilock.Masters, name string, slot int) (freed bool, err error) {
	return force(ctx, m.All, fmt.Sprintf("force release slot %d of", slot), name, script.SlotKey(name, slot))
}
