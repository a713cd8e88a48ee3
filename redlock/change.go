package redlock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"example.com/redlock/multilock"
)

// Change changes the sets that names are spread over to next, while names are locked. It is the first
// of two steps. From now on, each name that moves is locked in its old and in its new set, in this
// order; Change returns nil when every hold that this process took in old sets alone has ended. The
// second step is [Sets.Finish], once Change has returned in every process.
//
// So clients that know only the old sets and those that are changing meet in the old set, and those
// that are changing meet those that know only the new sets in the new one: at no moment has a name two
// holders, and its fencing tokens grow throughout.
//
// Sets that stay are given again, with the clients that they have. When ctx ends, the change goes on;
// call Change with the same sets again to go on waiting. Until Finish has returned, no other change
// can begin.
//
// Cost: while the sets are being changed, a lock of a name that moves takes two round trips, since both
// sets have to agree on its fencing token. Source: docs/cost.md, "Changing the sets".
func (s *Sets) Change(ctx context.Context, next ...Set) error {
	s.mu.Lock()
	if err := s.changeLocked(next); err != nil {
		s.mu.Unlock()
		return err
	}
	r := s.route
	old := s.waitingLocked(func(u *use) bool { return !covers(u.at, r.at(u.name)) })
	s.mu.Unlock()
	if err := wait(ctx, old, "change the sets", "in an old set alone"); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settled = true
	return nil
}

// changeLocked begins the change to next, unless it is under way.
func (s *Sets) changeLocked(next []Set) error {
	if err := checkSets(next); err != nil {
		return err
	}
	r := s.route
	switch {
	case r.next != nil && len(next) == len(r.next) && covers(r.next, next):
		return nil
	case r.next != nil || len(s.leaving) > 0:
		return errors.New("redlock: the sets are being changed already")
	}
	for _, set := range next {
		for _, old := range r.now {
			if set != old && (set.ID == old.ID || set.Client == old.Client) {
				return fmt.Errorf("redlock: set %q stays, but with another ID or Client", old.ID)
			}
		}
	}
	takePart(next)
	s.route, s.settled = &route{now: r.now, next: slices.Clone(next)}, false
	return nil
}

// Finish is the second step of a change of the sets: from now on, names are locked in the new sets only.
// It may be called once [Sets.Change] has returned nil in every process, and not before: a process that
// still had a hold in an old set alone would not be noticed. It returns when every hold of this process
// in a set that has left has ended, and the clients of those sets are closed. When ctx ends before,
// call Finish again.
//
// The error is that of [Client.Close], or of ctx. Without a change, Finish does nothing.
func (s *Sets) Finish(ctx context.Context) error {
	s.mu.Lock()
	if r := s.route; r.next != nil {
		if !s.settled {
			s.mu.Unlock()
			return errors.New("redlock: Finish before Change has returned")
		}
		s.leaving = slices.DeleteFunc(slices.Clone(r.now), func(set Set) bool { return slices.Contains(r.next, set) })
		s.route = &route{now: r.next}
	}
	leaving := s.leaving
	left := s.waitingLocked(func(u *use) bool {
		return slices.ContainsFunc(leaving, func(set Set) bool { return slices.Contains(u.at, set.Client) })
	})
	s.mu.Unlock()
	if err := wait(ctx, left, "finish the change of the sets", "in a set that has left"); err != nil {
		return err
	}
	err := together(leaving, func(set Set) error { return set.Client.Close() })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.leaving = nil
	return err
}

// use is a hold that was given to a caller.
type use struct {
	s     *Sets
	hold  *multilock.Hold // the first of its holds
	name  string
	at    []*Client     // where it is held
	left  int           // of its holds, those that have not ended
	ended chan struct{} // closed when all of its holds have ended; nil if nobody waits for it
}

// admit notes that holds, which are those of items, are given to a caller, and reports true if r still
// says where names are locked.
func (s *Sets) admit(r *route, items []item, holds []*Hold) bool {
	s.mu.Lock()
	if s.route != r {
		s.mu.Unlock()
		return false
	}
	var u *use
	for i, it := range items {
		if u == nil || u.name != it.name {
			u = &use{s: s, hold: holds[i].h, name: it.name}
			s.uses[u.hold] = append(s.uses[u.hold], u)
		}
		u.at = append(u.at, it.c)
		u.left++
		holds[i].e.use.Store(u)
	}
	s.mu.Unlock()
	for _, h := range holds {
		if h.h.Check() != nil { // it ended before it knew of its use
			h.e.use.Swap(nil).end()
		}
	}
	return true
}

// end notes that a hold of u has ended.
func (u *use) end() {
	if u == nil {
		return
	}
	s := u.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if u.left--; u.left > 0 {
		return
	}
	all := s.uses[u.hold]
	i := slices.Index(all, u)
	if all = slices.Delete(all, i, i+1); len(all) > 0 {
		s.uses[u.hold] = all
	} else {
		delete(s.uses, u.hold)
	}
	if u.ended != nil {
		close(u.ended)
	}
}

// given reports whether h is one that a caller has, as its own or as the first of two.
func (s *Sets) given(h *multilock.Hold) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.uses[h]) > 0
}

// waitingLocked returns the uses that are so.
func (s *Sets) waitingLocked(so func(*use) bool) (uses []*use) {
	for _, all := range s.uses {
		for _, u := range all {
			if so(u) {
				if u.ended == nil {
					u.ended = make(chan struct{})
				}
				uses = append(uses, u)
			}
		}
	}
	return uses
}

// wait waits until all uses have ended.
func wait(ctx context.Context, uses []*use, what, where string) error {
	for i, u := range uses {
		select {
		case <-u.ended:
		case <-ctx.Done():
			others := ""
			if n := len(uses) - i - 1; n > 0 {
				others = " and up to " + strconv.Itoa(n) + " more"
			}
			return fmt.Errorf("redlock: %s: %w: %q%s is held %s", what, multilock.Ended(ctx), u.name, others, where)
		}
	}
	return nil
}

// covers reports whether all of need are among have.
func covers[T comparable](have, need []T) bool {
	return !slices.ContainsFunc(need, func(x T) bool { return !slices.Contains(have, x) })
}
