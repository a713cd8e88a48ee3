package twin

import (
	"cmp"
	"math"
	"slices"
)

// MaxSlots is how many permits a semaphore has at most. A command that wants one of more panics.
const MaxSlots = 4

// Slots is all that a master keeps of one semaphore. In the zero Slots all permits are free, and nobody
// waits. It is for a semaphore what [Lock] is for a lock.
type Slots struct {
	Slots [MaxSlots]Slot
	Line
	Marks
}

// Slot is a permit.
type Slot struct {
	Owner   Owner // 0: nobody
	Expires int64 // 0 where nobody has it
	Counter int64 // fencing counter, 0 where there is none
}

// Expire drops what has run out at now. Every method begins with it.
func (s *Slots) Expire(now int64) {
	for i := range s.Slots {
		if s.Slots[i].Expires <= now {
			s.free(i)
		}
	}
	s.expire(now)
	s.lapse(now)
}

// has returns which slot owner has, -1 if none.
func (s *Slots) has(owner Owner) int {
	return slices.IndexFunc(s.Slots[:], func(at Slot) bool { return owner != 0 && at.Owner == owner })
}

// firstFree returns the first free slot for e, -1 if there is none.
func (s *Slots) firstFree(e *Entry) int {
	for i := range e.Permits {
		if slot := int((e.Start + i) % e.Permits); s.Slots[slot].Owner == 0 {
			return slot
		}
	}
	return -1
}

// free takes a slot from whoever has it.
func (s *Slots) free(slot int) { s.Slots[slot].Owner, s.Slots[slot].Expires = 0, 0 }

// give has the owner of e have a slot, with a fencing token above the counter and above token, and the
// one proposed if that is so.
func (s *Slots) give(now int64, slot int, e *Entry, lease, token int64) {
	s.Slots[slot] = Slot{e.Owner, now + lease, max(above(s.Slots[slot].Counter, token)+1, e.Proposal)}
}

// Acquire takes a slot for e, once.
func (s *Slots) Acquire(now int64, hears Hears, lease int64, e Entry) Reply {
	e.Round = 0
	return s.AcquireOrRegister(now, hears, lease, e)
}

// Register enters the queue and leaves what is free alone.
func (s *Slots) Register(now int64, e Entry) Reply { return s.AcquireOrRegister(now, nil, 0, e) }

// AcquireOrRegister is acquireslot.lua: Acquire for a waiter, which enters the queue where no slot is free. An e
// of round 0 does not wait.
func (s *Slots) AcquireOrRegister(now int64, hears Hears, lease int64, e Entry) (r Reply) {
	s.Expire(now)
	if slot := s.has(e.Owner); slot >= 0 {
		at := &s.Slots[slot]
		if at.Counter > maxToken {
			return beginAnew(&at.Counter, e.Proposal)
		}
		if at.Counter == 0 {
			at.Counter = e.Proposal
		}
		if lease > 0 {
			at.Expires = max(at.Expires, now+lease)
		}
		return Reply{Outcome: Done, Slot: uint8(slot), Token: at.Counter}
	}
	slot := -1
	if lease > 0 {
		slot = s.firstFree(&e)
	}
	if slot < 0 || s.waiting() {
		if e.Round > 0 {
			e = s.enter(now, e)
		}
		if slot >= 0 {
			// Nobody overtakes those who wait.
			slot = s.pump(now, hears, 0, e.Owner, &r)
			if e.Round == 0 && slot < 0 {
				slot = s.firstFree(&e)
			}
		}
	}
	if slot >= 0 {
		if at := &s.Slots[slot]; at.Counter >= maxToken {
			r.Outcome = beginAnew(&at.Counter, e.Proposal).Outcome
			return r
		}
		s.give(now, slot, &e, lease, 0)
		r.Outcome, r.Slot, r.Token = Done, uint8(slot), s.Slots[slot].Counter
		return r
	}
	r.Outcome = Refused
	for i := 0; e.Round > 0 && s.Queue[i].Owner != e.Owner; i++ {
		if s.Queue[i].Permits == e.Permits {
			r.Rank++
		}
	}
	if s.firstFree(&e) >= 0 {
		return r
	}
	r.Left = Never
	for i, at := range s.Slots {
		if at.Owner != 0 {
			r.Holders[i], r.Left = at.Owner, min(r.Left, at.Expires-now)
		}
	}
	slices.SortFunc(r.Holders[:], func(a, b Owner) int { return cmp.Compare(b, a) }) // nobody comes last
	return r
}

// overtakes is how long after another one may have begun to wait, in µs, and still be served before it.
const overtakes = 50_000

// pump hands the slots that are free to those in the queue, as slots.lua does: first, of as many as there
// are permits, to each the one that it wants first, if it began to wait soon after the first; then to all
// in their order who know of one that is free. It ends when none is free that anybody knows of; with me it
// ends with me, whose slot it returns, or -1.
func (s *Slots) pump(now int64, hears Hears, token int64, me Owner, r *Reply) (slot int) {
	var top, none uint8 // the most permits that anybody counts; who counts so many finds none
	for _, e := range s.Queue {
		top = max(top, e.Permits)
	}
	spent := func() bool {
		return none >= top || !slices.ContainsFunc(s.Slots[:top], func(at Slot) bool { return at.Owner == 0 })
	}
	first := int64(math.MaxInt64) // until when one may have begun to wait
	var place [MaxSlots + 1]uint8 // among those who count as many permits
	pass := 1
	if me != 0 {
		pass = 2
	}
	for ; pass <= 2; pass++ {
		for i := 0; i < MaxQueue && s.Queue[i].Owner != 0 && !spent(); {
			e := s.Queue[i]
			place[e.Permits]++
			if !s.fresh(now, &e) {
				s.remove(i)
				continue
			}
			slot := -1
			if pass == 1 {
				first = min(first, e.Since+overtakes)
				if e.Since > first {
					break
				}
				if place[e.Permits] <= e.Permits && s.Slots[e.Start].Owner == 0 {
					slot = int(e.Start)
				}
			} else if e.Permits > none {
				if slot = s.firstFree(&e); slot < 0 {
					none = e.Permits
				}
			}
			if slot < 0 {
				i++
			} else {
				s.remove(i)
			}
			if e.Owner == me {
				return slot
			}
			if slot >= 0 {
				s.handOff(now, hears, slot, &e, token, r)
			}
		}
	}
	return -1
}

// fresh reports whether e, which is in the queue, still waits.
func (s *Slots) fresh(now int64, e *Entry) bool { return now < e.Stale && s.has(e.Owner) < 0 }

// handOff hands a slot to the owner of e if that hears of it.
func (s *Slots) handOff(now int64, hears Hears, slot int, e *Entry, token int64, r *Reply) {
	if e.hears(hears) {
		s.give(now, slot, e, e.Lease, token)
		r.handOff(hears, HandOff{Owner: e.Owner, Round: e.Round, Token: s.Slots[slot].Counter, Slot: uint8(slot)})
	}
}

// Release takes owner out of the queue and frees the slot that it has. What is free then passes to those
// in the queue. token is the fencing token of owner, or the one it proposed.
func (s *Slots) Release(now int64, hears Hears, owner Owner, token int64) Reply {
	return s.release(now, hears, owner, token, Entry{}, Entry{})
}

// ReleaseTo is Release, and enters next into the queue before.
func (s *Slots) ReleaseTo(now int64, hears Hears, owner Owner, token int64, next Entry) Reply {
	return s.release(now, hears, owner, token, next, Entry{})
}

// GiveWay is Release, and enters next, who is the same caller, into the queue afterwards.
func (s *Slots) GiveWay(now int64, hears Hears, owner Owner, token int64, next Entry) Reply {
	return s.release(now, hears, owner, token, Entry{}, next)
}

// release is Release, and enters others into the queue before what is free passes on, and after.
func (s *Slots) release(now int64, hears Hears, owner Owner, token int64, before, after Entry) Reply {
	s.Expire(now)
	s.leave(owner)
	slot := s.has(owner)
	if slot >= 0 {
		s.free(slot)
	}
	r := released(slot >= 0)
	s.admit(now, before)
	s.passOn(now, hears, token, &r)
	s.admit(now, after)
	return r
}

// admit enters next into the queue, unless it is nobody, or has a slot by now.
func (s *Slots) admit(now int64, next Entry) {
	if next.Owner != 0 && s.has(next.Owner) < 0 {
		s.enter(now, next)
	}
}

// passOn hands off what is free at the end of a release, but not with NoToken.
func (s *Slots) passOn(now int64, hears Hears, token int64, r *Reply) {
	if token != NoToken {
		s.pump(now, hears, token, 0, r)
	}
}

// Force frees a slot, or all if that is -1, and keeps their owners from healing them for as long as their
// leases would have lasted.
func (s *Slots) Force(now int64, hears Hears, slot int, token int64) Reply {
	s.Expire(now)
	r := Reply{Outcome: Refused}
	for i, at := range s.Slots {
		if at.Owner != 0 && (slot < 0 || slot == i) {
			s.force(at.Owner, at.Expires)
			s.free(i)
			r.Outcome = Done
		}
	}
	s.passOn(now, hears, token, &r)
	return r
}

// Raise raises the fencing counter of a slot that owner has to token. It is refused, with the counter,
// where that is not below token, and without where owner does not have the slot.
func (s *Slots) Raise(now int64, owner Owner, slot int, token int64) Reply {
	s.Expire(now)
	switch at := &s.Slots[slot]; {
	case at.Owner != owner:
		return Reply{Outcome: Refused}
	case at.Counter > maxToken:
		return beginAnew(&at.Counter, token)
	case at.Counter >= token:
		return Reply{Outcome: Refused, Token: at.Counter}
	default:
		at.Counter = token
		return Reply{Outcome: Done, Token: token}
	}
}

// Renew extends the slot that owner has won to lease, with its fencing token. With heal it sets the slot
// again where nobody has it, but not after a Force. Another slot that owner has here it gives up.
func (s *Slots) Renew(now int64, hears Hears, owner Owner, slot int, lease, token int64, heal bool) Reply {
	s.Expire(now)
	r := Reply{Outcome: Done, Renewed: Extended}
	other, at := s.has(owner), &s.Slots[slot]
	if other >= 0 && other != slot {
		s.free(other)
	}
	switch {
	case at.Owner == owner:
	case at.Owner != 0:
		r.Renewed = Foreign
	case !heal || s.forced(owner):
		r.Renewed = Absent
	default:
		at.Owner, r.Renewed = owner, Healed
	}
	if at.Owner == owner {
		at.Expires, at.Counter = max(at.Expires, now+lease), recounted(at.Counter, token)
	}
	if heal && other >= 0 && other != slot {
		s.pump(now, hears, 0, 0, &r)
	}
	return r
}
