package multilock

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
)

// How a permit is taken. Each slot of a semaphore is a lock, and a caller that waits stands in the queue of
// one of them, or of a few. [slots] says which.

const (
	// tryLooks is how often TryAcquire looks which slots are free, and triesEach how many of them it then tries.
	tryLooks, triesEach = 3, 4
	// maxStands is at how many slots a caller stands at most.
	maxStands = 4
	// lookAgain is how long the first caller of a client stands at its slots before it looks again and goes to
	// another one, and up to twice that.
	lookAgain = 200 * time.Millisecond
	// freshFor, for each slot, is how long the result of a look is used: a look costs a master about 1 µs for each
	// slot, during which it does nothing else.
	freshFor = 100 * time.Microsecond
	// lingers is how long a client goes on listening to a semaphore after its last look.
	lingers = 5 * time.Second
)

// nextSlot says at which slot the client's next caller for a permit begins: at the one that the client gave back last,
// which is free or has a shorter queue now; or else at any. Callers that begin at the same time get different slots.
type nextSlot struct {
	mu    sync.Mutex
	given []string // the keys of slots that were given back, and no caller has begun there since
	other int      // where the next begins if there is none
}

// start returns the slot at which to begin, of so many.
func (s *nextSlot) start(semaphore string, permits int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, key := range slices.Backward(s.given) {
		if of, slot := script.SlotOf(key); of == semaphore && slot < permits {
			s.given = slices.Delete(s.given, i, i+1)
			return slot
		}
	}
	s.other++
	return s.other % permits
}

// freed notes that the client gave back the slot at key.
func (s *nextSlot) freed(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given = slices.DeleteFunc(s.given, func(before string) bool { return before == key })
	if len(s.given) == maxBids {
		s.given = slices.Delete(s.given, 0, 1)
	}
	s.given = append(s.given, key)
}

// at returns the request of a permit as that of one slot.
func (req Request) at(slot int) *Request {
	req.Key, req.Permits = script.SlotKey(req.Key, slot), 0
	return &req
}

// tryPermit tries to take a permit without waiting for it. A look ends once the masters that have not answered could not
// show a free slot any more, so that a slow master does not hide a slot that has been given back.
//
// Cost: one round trip where the slot is free that the client gave back last; else two more, seldom another.
func (m *Masters) tryPermit(ctx context.Context, req *Request) (*Hold, error) {
	hold, err := m.try(ctx, req.at(m.nextSlot.start(req.Key, req.Permits)))
	for range tryLooks {
		if !errors.Is(err, poll.ErrTaken) {
			break
		}
		b, cut := m.All.Ask(script.Look(req.Key, req.Permits), func(b *poll.Ballot) bool {
			return m.answered(b) && known(b, req.Permits).settled(b.N-b.In.Len())
		}).Wait(ctx)
		if !m.answered(b) {
			return nil, m.All.Lost("acquire", req.Key, b, poll.ErrNoQuorum, cut, nil)
		}
		free := known(b, req.Permits)
		var tried []int
		for len(tried) < triesEach && errors.Is(err, poll.ErrTaken) {
			slot := free.freeOne(req.Permits, rand.Uint32(), tried)
			if slot < 0 {
				break
			}
			tried = append(tried, slot)
			hold, err = m.try(ctx, req.at(slot))
		}
		if len(tried) == 0 {
			return nil, m.allTaken(req, b)
		}
	}
	return hold, err
}

// answered reports whether a majority has answered.
func (m *Masters) answered(b *poll.Ballot) bool {
	done, _, _ := b.Tally()
	return m.All.Majority(done)
}

// known returns what the masters answered to a look at so many slots.
func known(b *poll.Ballot, permits int) *slots {
	s := &slots{masters: b.N}
	s.see(b, permits)
	return s
}

// allTaken returns the error of a try that found no free slot; b has the answers to its look.
func (m *Masters) allTaken(req *Request, b *poll.Ballot) error {
	for i := range b.N {
		if a := &b.Answers[i]; a.Outcome == script.Done {
			a.Outcome, a.Taken = script.Refused, req.Permits
			for n, slot := range a.Slots {
				if n == 0 || slot.Left < a.Left {
					a.Left = slot.Left
				}
			}
		}
	}
	return m.All.Refused("acquire", req.Key, b, nil)
}

// semaphore is what a client knows of one, while callers wait for its permits. Masters.mu guards it.
type semaphore struct {
	key  string      // see script.Slots
	idle *time.Timer // see rest

	listens  bool          // since a look: to what the masters tell of its slots
	slots    *slots        // by the last look
	looked   clock.Instant // when that began
	look     *look         // under way, nil if none is
	standing []*waiter     // in the order in which they began to stand
	wary     bool          // since the last look, a caller got votes that do not count
}

// look is a look at the first slots of a semaphore, for all callers that wait for it.
type look struct {
	asked *poll.Poll
	slots int // so many
	began clock.Instant
}

// enlist makes w one of those who stand at slots of its semaphore.
func (m *Masters) enlist(w *waiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.nameLocked(w.line)
	if n.semaphore == nil {
		s := &semaphore{key: w.line, slots: &slots{masters: m.All.Len()}}
		s.idle = time.AfterFunc(lingers, func() { m.rest(s) })
		n.semaphore = s
	}
	w.semaphore, w.hint = n.semaphore, -1
	w.semaphore.standing = append(w.semaphore.standing, w)
}

// delist undoes enlist. A hint goes to another caller.
func (m *Masters) delist(w *waiter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := w.semaphore
	s.standing = slices.DeleteFunc(s.standing, func(other *waiter) bool { return other == w })
	if w.hint >= 0 {
		s.hintLocked(w.hint)
	}
}

// rest stops listening when no caller has had to look for a while: each message costs a master as much as a permit. It
// ends s once no caller stands there either.
func (m *Masters) rest(s *semaphore) {
	m.mu.Lock()
	m.sawLocked(s)
	over := len(s.standing) == 0
	quiet := s.listens && (over || s.look == nil)
	if quiet {
		s.listens = false
	}
	if n := m.names[s.key]; !over {
		s.idle.Reset(lingers)
	} else if n != nil && n.semaphore == s {
		n.semaphore = nil
		m.tidyLocked(s.key)
	}
	m.mu.Unlock()
	if quiet {
		m.unwatch(s.key)
	}
}

// lookAt looks which slots of s are taken, of as many as any caller that stands there counts, unless that is known well
// enough. When the channel is closed, sawLocked tells. From then on, the client listens to what the masters tell of the
// slots: where a permit is there at once, no caller needs to.
func (m *Masters) lookAt(s *semaphore) <-chan struct{} {
	m.mu.Lock()
	m.sawLocked(s) // whoever asked may have left before it ended
	k, now, l := 0, clock.Now(), s.look
	for _, w := range s.standing {
		k = max(k, w.req.Permits)
	}
	fresh := len(s.slots.load) >= k && now.Sub(s.looked) < time.Duration(k)*freshFor
	asks := !fresh && (l == nil || l.slots < k)
	if asks {
		l = &look{m.All.NewPoll(m.answered), k, now}
		s.look = l
	}
	listened := s.listens
	s.listens = true
	s.idle.Reset(lingers)
	m.mu.Unlock()
	if !listened {
		m.watch(s.key) // before the look is sent: what is freed later is told
	}
	switch {
	case asks:
		name, _ := script.SlotOf(s.key)
		m.All.Send(script.Look(name, k), m.All.Set(), l.asked)
	case l == nil:
		return closedChan
	}
	return l.asked.Done
}

// sawLocked takes over what the look came to, if one has ended.
func (m *Masters) sawLocked(s *semaphore) {
	l := s.look
	if l == nil || !poll.IsClosed(l.asked.Done) {
		return
	}
	b, _ := l.asked.Wait(context.Background())
	s.look, s.wary = nil, false
	if m.answered(b) {
		s.slots.see(b, l.slots)
		s.looked = l.began
	}
}

// scarce reports whether the client looked a moment ago, and no slot was free. Hints tell of those that were freed since.
func (m *Masters) scarce(s *semaphore) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := len(s.slots.load)
	return k > 0 && clock.Since(s.looked) < lookAgain && s.slots.freeOne(k, 0, nil) < 0
}

// slotFreed notes that master i freed the lock at key, if that is a slot, and that nobody waits for it there. The first
// caller that counts so many permits is to try it, unless a caller stands at that slot.
func (m *Masters) slotFreed(i int, key string) {
	_, slot := script.SlotOf(key)
	if slot < 0 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[lineOf(key)]
	if n == nil || n.semaphore == nil {
		return
	}
	s := n.semaphore
	if s.slots.isFreed(i, slot) && s.slots.follow(rand.Uint32(), len(s.standing)) {
		s.hintLocked(slot)
	}
}

func (s *semaphore) hintLocked(slot int) {
	var first *waiter
	for _, w := range s.standing {
		switch {
		case slices.Contains(w.at(), slot), w.hint == slot:
			return
		case first == nil && w.hint < 0 && slot < w.req.Permits:
			first = w
		}
	}
	if first != nil {
		first.hint = slot
		poke(first.told)
	}
}

// at returns the slots at which w stands.
func (w *waiter) at() []int {
	at := make([]int, 0, maxStands+1)
	for _, d := range w.drivers {
		at = append(at, d.slot)
	}
	return at
}

// stand waits for a permit in the queues of slots. It returns neither a hold nor an error if the caller should look
// again.
//
// A caller goes first to the slot that nextSlot names. If that is taken, the caller looks, unless no slot was free a
// moment ago. From time to time, the caller that has waited the longest looks again, and goes to one more slot: so later
// callers do not overtake it for long, even if its first slots are held for long. A caller that stands nowhere, since
// what it won ended before it could take it, looks again as well.
func (m *Masters) stand(ctx context.Context, w *waiter) (*Hold, error) {
	m.enlist(w)
	defer m.delist(w)
	s, req := w.semaphore, &w.req
	m.goTo(w, m.nextSlot.start(req.Key, req.Permits), true)
	var looked <-chan struct{}
	again := time.NewTimer(m.lookIn())
	defer again.Stop()
	for first := true; ; {
		turn := false
		select {
		case <-w.told:
			if !m.Clients.Admitted() { // as in bid, but what it has won it keeps: others would come first at the slot
				won, err := w.any(func(s *attempt.Attempt) bool { return s.State == attempt.Held }), error(nil)
				if won {
					if err = m.All.Reach(ctx, "acquire", req.Key); err == nil {
						err = m.Clients.Admit(ctx, "acquire", req.Key)
					}
				}
				switch unsure, _ := errors.AsType[*poll.MajorityError](err); {
				case err != nil && ctx.Err() != nil:
					return m.waited(ctx, w, unsure)
				case err != nil, !won:
					m.dropAll(w, nil)
					return nil, nil
				}
			}
			if hold, err := m.won(ctx, w); hold != nil || err != nil {
				return hold, err
			}
			if looked == nil && first && req.Permits > 1 && w.refused() {
				if first = !m.scarce(s) || w.behind(&m.conf); first {
					looked = m.lookAt(s)
				}
			}
			m.follow(w)
			continue
		case <-again.C:
			again.Reset(m.lookIn())
			if looked == nil && (len(w.drivers) == 0 || req.Permits > 1 && m.isFirst(w)) {
				looked, first = m.lookAt(s), false
			}
			continue
		case <-looked:
			turn = !first
			looked, first = nil, false
		case <-ctx.Done():
			return m.waited(ctx, w, nil)
		case <-m.All.Closing():
			return nil, poll.ErrClosed
		}
		m.choose(w, turn)
	}
}

// lookIn draws the time until the first caller looks again.
func (m *Masters) lookIn() time.Duration { return lookAgain + rand.N(lookAgain) + 4*m.All.RoundTrip() }

// goTo has w ask for one more slot, unless that is below 0: if stays is true, w waits in its queue; otherwise it only
// tries. A caller that stands at too many slots gives one up, see shed.
func (m *Masters) goTo(w *waiter, slot int, stays bool) {
	if slot < 0 {
		return
	}
	m.mu.Lock()
	d := m.driveLocked(w, script.SlotKey(w.req.Key, slot), stays)
	if d != nil && stays {
		w.semaphore.slots.stand(slot)
	}
	m.mu.Unlock()
	if d == nil {
		return
	}
	d.start()
	if len(w.drivers) > maxStands {
		m.shed(w)
	}
}

// shed gives up the slot at which w has stood the longest, but none that it has won and is to take in a moment.
func (m *Masters) shed(w *waiter) {
	if n := slices.IndexFunc(w.drivers, func(d *driver) bool { return !d.is(attempt.Held) }); n >= 0 {
		m.drop(w, w.drivers[n])
	}
}

// choose has w go to the slot that the last look suggests, if any. With turn, w goes to one more slot in any case.
func (m *Masters) choose(w *waiter, turn bool) {
	k, at := w.req.Permits, w.at()
	last, crowded := len(at)-1, false
	m.mu.Lock()
	s := w.semaphore.slots
	m.sawLocked(w.semaphore)
	slot := s.freeOne(k, rand.Uint32(), at)
	switch {
	case slot >= 0:
	case turn && last >= 0:
		slot = s.next(k, at[last], at)
	default:
		slot = s.least(k, rand.Uint32(), at)
		if last >= 0 && slot >= 0 {
			if crowded = s.crowded(at[0], slot); !crowded {
				slot = -1
			}
		}
	}
	m.mu.Unlock()
	if slot < 0 && last < 0 {
		slot = m.nextSlot.start(w.req.Key, k) // too few masters answered
	}
	m.goTo(w, slot, true)
	if crowded {
		m.shed(w)
	}
}

// follow makes w try the slot that a hint names, unless w is trying another one, or has yet to hear whether its own is
// free: then a try would be in the way of the client that freed the slot, whose next caller begins there. After a try
// that got too few votes, hints are ignored until the next look: that try gave its votes back, and the masters told all
// clients that the slot is free.
func (m *Masters) follow(w *waiter) {
	if w.any(func(s *attempt.Attempt) bool { return !s.Want.Wait || s.State == attempt.Asking }) {
		return
	}
	m.mu.Lock()
	slot := w.hint
	w.hint = -1
	if w.semaphore.wary {
		slot = -1
	}
	m.mu.Unlock()
	m.goTo(w, slot, false)
}

// refused reports whether others have the slots at which the caller stands.
func (w *waiter) refused() bool {
	return !w.any(func(s *attempt.Attempt) bool { return s.State != attempt.Waiting })
}

// behind reports whether somebody stands before the caller at its slot.
func (w *waiter) behind(conf *attempt.Config) bool {
	return w.any(func(s *attempt.Attempt) bool { return s.Ahead(conf) > 0 })
}

// any reports whether what the caller asked for at one of its slots is so.
func (w *waiter) any(is func(*attempt.Attempt) bool) bool {
	return slices.ContainsFunc(w.drivers, func(d *driver) bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return is(&d.state)
	})
}

// isFirst reports whether w has waited the longest of this client's callers that know all of its slots: those that
// count as many permits, or more.
func (m *Masters) isFirst(w *waiter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.names[w.line].line.waiters
	return all[slices.IndexFunc(all, func(other *waiter) bool { return other.req.Permits >= w.req.Permits })] == w
}
