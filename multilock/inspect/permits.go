package inspect

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"example.com/redlock/internal/beside"
	"example.com/redlock/multilock/clients"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
)

// Slot is who has a slot of a semaphore.
type Slot struct {
	Slot  int
	Owner string
	Left  time.Duration // until it is free
	For   time.Duration // how long its owner has had it, see Inspection; zero in a View
	Token int64         // its fencing counter
}

// Waiter is one in the queue of a lock, or of a slot of a semaphore.
type Waiter struct {
	Entry script.Waiter
	Slot  int // of a semaphore
	rank  int // in the queue of that
}

// maxWaiters is how many waiters of a semaphore a View has.
const maxWaiters = 100

// atOnce is how many slots are asked for at the same time.
const atOnce = 128

// Permits is [Lock] for the slots of a semaphore, which are locks: those that somebody has or waits for.
//
// Cost: one script call on each master, and one for each such slot.
func Permits(ctx context.Context, d *clients.Directory, name string) (Inspection, error) {
	in, slots, err := taken(ctx, d, name)
	if err != nil {
		return in, err
	}
	var mu sync.Mutex
	err = each(slots, func(slot int) error {
		one, err := lock(ctx, d, name, script.SlotKey(name, slot))
		if why, ok := errors.AsType[*poll.MajorityError](err); ok && why.Hopeless {
			return nil // another program's
		} else if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		held := Slot{Slot: slot, Owner: one.Holder, Left: one.Left, For: one.For}
		for i, v := range one.Views {
			view := &in.Views[i]
			if v.Holder != "" {
				view.Slots = append(view.Slots, Slot{Slot: slot, Owner: v.Holder, Left: v.Left, Token: v.Token})
			}
			if v.Holder == one.Holder {
				held.Token = max(held.Token, v.Token)
			}
			for rank, w := range v.Queue {
				view.Queue = append(view.Queue, Waiter{w.Entry, slot, rank})
			}
		}
		if one.Holder != "" {
			in.Slots = append(in.Slots, held)
		}
		return nil
	})
	bySlot := func(a, b Slot) int { return cmp.Compare(a.Slot, b.Slot) }
	slices.SortFunc(in.Slots, bySlot)
	for i := range in.Views {
		view := &in.Views[i]
		slices.SortFunc(view.Slots, bySlot)
		slices.SortFunc(view.Queue, func(a, b Waiter) int {
			return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.Slot, b.Slot))
		})
		view.Queue = view.Queue[:min(len(view.Queue), maxWaiters)]
	}
	return in, err
}

// taken returns which slots of a semaphore somebody has or waits for at any master. The Views of the Inspection
// say no more than whether the masters answered.
//
// Cost: one script call on each master.
func taken(ctx context.Context, d *clients.Directory, name string) (Inspection, []int, error) {
	in, b, err := inspect(ctx, d, name, script.Look(name, script.MaxPermits))
	if err != nil {
		return in, nil, err
	}
	var slots []int
	for _, a := range b.Answers {
		for _, s := range a.Slots {
			slots = append(slots, s.Slot)
		}
	}
	slices.Sort(slots)
	return in, slices.Compact(slots), nil
}

// each runs f for all slots, some at the same time, and returns an error of them.
func each(slots []int, f func(slot int) error) error {
	for part := range slices.Chunk(slots, atOnce) {
		for _, err := range beside.All(part, f) {
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// ForceSlot is [Force] for a slot of the semaphore name.
//
// Cost: one script call on each master.
func ForceSlot(ctx context.Context, m *poll.Masters, name string, slot int) (freed bool, err error) {
	return force(ctx, m, "force release", name, script.SlotKey(name, slot))
}

// ForceSlots is ForceSlot for all slots that somebody has.
//
// Cost: one script call on each master, and one for each such slot.
func ForceSlots(ctx context.Context, d *clients.Directory, name string) (freed bool, err error) {
	_, slots, err := taken(ctx, d, name)
	if err != nil {
		return false, err
	}
	var mu sync.Mutex
	err = each(slots, func(slot int) error {
		one, err := ForceSlot(ctx, d.All, name, slot)
		mu.Lock()
		defer mu.Unlock()
		freed = freed || one
		return err
	})
	return freed, err
}
