package redlockadmin

import (
	"context"
	"fmt"
	"time"

	"example.com/redlock/multilock"
	"example.com/redlock/multilock/inspect"
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
		look, err := inspect.Permits(ctx, m.Clients, name)
		who := clientsOf(ctx, m, look)
		in.Slots = append(in.Slots, slots(look.Slots, who)...)
		for _, v := range look.Views {
			in.Masters = append(in.Masters, SemaphoreState{
				Master: v.Master, Slots: slots(v.Slots, who), Queue: waiters(v.Queue, who), Guard: v.Guard, Err: v.Err,
			})
		}
		return err
	})
	return in, err
}

func slots(taken []inspect.Slot, who map[string]*redlock.ClientInfo) (list []Slot) {
	for _, s := range taken {
		list = append(list, Slot{Number: s.Slot, Owner: s.Owner, Client: who[s.Owner], Remaining: s.Left, HeldFor: s.For, Token: s.Token})
	}
	return list
}

// ForceRelease frees all permits of a semaphore on every master that answers, whoever has them, and reports whether
// somebody had any: see [Admin.ForceUnlock].
func (a *Admin) ForceRelease(ctx context.Context, name string) (freed bool, err error) {
	err = a.client.At(name, func(m *multilock.Masters) error {
		one, err := inspect.ForceSlots(ctx, m.Clients, name)
		freed = freed || one
		return err
	})
	return freed, err
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
			freed, failed = inspect.ForceSlot(ctx, m.All, name, slot)
			return failed
		}
		return nil
	})
	return freed, err
}
