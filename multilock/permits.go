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
// one of them, or of a few. Where it stands is decided by [slots].

const (
	// tryLooks is how often TryAcquire looks which slots are free, and triesEach how many of them it then tries.
	tryLooks, triesEach = 3, 4
	// maxStands is at how many slots a caller stands at most.
	maxStands = 4
	// lookAgain is how long the first caller of a client stands at its slots before it looks again and goes to
	// another one, and up to twice that.
	lookAgain = 200 * time.Millisecond
	// freshFor is how long a look is good for, for each slot: a master takes about 1 µs for each, and does
	// nothing else meanwhile.
	freshFor = 100 * time.Microsecond
	// lingers is how long a client goes on listening to a semaphore after its last look.
	lingers = 5 * time.Second
)

// nextSlot is where the client's next caller for a permit begins: at the slot that it gave back last, which is free, or
// has one less in its queue, and at first at any. Callers at the same time begin at different slots.
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

// tryPermit tries to take a permit without waiting for it. It looks until no master that is yet to answer could
// show a free slot: one that lags behind hides nothing that has been given back.
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

// known returns what the masters said that were asked for the slots.
func known(b *poll.Ballot, permits int) *slots {
	s := &slots{masters: b.N}
	s.see(b, permits)
	return s
}

// allTaken is the error where no slot is free, by what the masters said.
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

// scarce reports whether no slot was free when the client last looked, a moment ago. Those that have been freed
// since were hinted at.
func (m *Masters) scarce(s *semaphore) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	k := len(s.slots.load)
	return k > 0 && clock.Since(s.looked) < lookAgain && s.slots.freeOne(k, 0, nil) < 0
}

// slotFreed notes that master i freed the lock at key, if that is a slot, which nobody waits for. The first caller that can
// goes there, unless one stands there.
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
// A caller goes first to the slot that the client gave back last: it is free, or its queue is one shorter now. If it is
// taken, the caller looks, unless none was free a moment ago. The one that has waited the longest looks again from time to
// time, and goes to one more slot each time: so nobody that came later overtakes it for long, whichever slots
// are held for long. So does a caller that stands nowhere any more, as what it won ended before it could take it.
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

// lookIn draws how long the first caller stands before it looks again.
func (m *Masters) lookIn() time.Duration { return lookAgain + rand.N(lookAgain) + 4*m.All.RoundTrip() }

// goTo asks for one more slot, unless that is below 0, and stands in its queue if stays is true; otherwise it tries it. Of
// too many, it gives up the one at which it has stood the longest.
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

// choose goes where the last look says. With turn, it goes somewhere in any case.
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

// follow tries the slot that a hint is about, once, unless it tries another one, or has just asked for one: that is
// mostly free, and the other slot too is where a caller of the client that freed it begins. After votes that did not
// count it tries none before the next look: giving them back told all that the slot is free.
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

// isFirst reports whether no caller of this client has waited longer than w for what it wants. Those that count fewer
// permits know less than all of its slots.
func (m *Masters) isFirst(w *waiter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.names[w.line].line.waiters
	return all[slices.IndexFunc(all, func(other *waiter) bool { return other.req.Permits >= w.req.Permits })] == w
}
