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
	given []givenSlot // back, and no caller has begun there since
	other int         // where the next begins if there is none
}

type givenSlot struct {
	semaphore string
	slot      int
}

// start returns the slot at which to begin, of so many.
func (s *nextSlot) start(semaphore string, permits int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, one := range slices.Backward(s.given) {
		if one.semaphore == semaphore && one.slot < permits {
			s.given = slices.Delete(s.given, i, i+1)
			return one.slot
		}
	}
	s.other++
	return s.other % permits
}

// freed notes that the client gave the slot of d back.
func (s *nextSlot) freed(d *driver) {
	semaphore, slot := script.SlotOf(d.key)
	one := givenSlot{semaphore, slot}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given = slices.DeleteFunc(s.given, func(before givenSlot) bool { return before == one })
	if len(s.given) == maxBids {
		s.given = slices.Delete(s.given, 0, 1)
	}
	s.given = append(s.given, one)
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

// semaphore is what a client knows of one, while callers wait for its permits.
type semaphore struct {
	m    *Masters
	key  string      // see script.Slots
	idle *time.Timer // see rest

	mu       sync.Mutex
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
	s, known := m.semaphores[w.line]
	if !known {
		s = &semaphore{m: m, key: w.line, slots: &slots{masters: m.All.Len()}}
		s.idle = time.AfterFunc(lingers, s.rest)
		m.semaphores[w.line] = s
	}
	w.semaphore, w.hint = s, -1
	s.mu.Lock()
	s.standing = append(s.standing, w)
	s.mu.Unlock()
	m.mu.Unlock()
}

// rest stops listening when no caller has had to look for a while: each message costs a master as much as a permit. It
// ends s once no caller stands there either.
func (s *semaphore) rest() {
	s.m.mu.Lock()
	s.mu.Lock()
	s.sawLocked()
	over := len(s.standing) == 0
	quiet := s.listens && (over || s.look == nil)
	if quiet {
		s.listens = false
	}
	switch {
	case !over:
		s.idle.Reset(lingers)
	case s.m.semaphores[s.key] == s:
		delete(s.m.semaphores, s.key)
	}
	s.mu.Unlock()
	s.m.mu.Unlock()
	if quiet {
		s.m.unwatch(s.key)
	}
}

// ask looks which of the first k slots are taken, unless that is known well enough. When the channel is
// closed, saw tells. From then on, the client listens to what the masters tell of the slots: where a permit
// is there at once, no caller needs to.
func (s *semaphore) ask(k int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.idle.Reset(lingers)
	if !s.listens {
		s.listens = true
		s.m.watch(s.key)
	}
	s.sawLocked() // whoever asked may have left before it ended
	now := clock.Now()
	switch {
	case s.look != nil && s.look.slots >= k:
	case len(s.slots.load) >= k && now.Sub(s.looked) < time.Duration(k)*freshFor:
		return closedChan
	default:
		name, _ := script.SlotOf(s.key)
		s.look = &look{s.m.All.Ask(script.Look(name, k), s.m.answered), k, now}
	}
	return s.look.asked.Done
}

// sawLocked takes over what the look came to, if one has ended.
func (s *semaphore) sawLocked() {
	l := s.look
	if l == nil || !poll.IsClosed(l.asked.Done) {
		return
	}
	b, _ := l.asked.Wait(context.Background())
	s.look, s.wary = nil, false
	if s.m.answered(b) {
		s.slots.see(b, l.slots)
		s.looked = l.began
	}
}

// scarce reports whether no slot was free when the client last looked, a moment ago. Those that have been freed
// since were hinted at.
func (s *semaphore) scarce() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	k := len(s.slots.load)
	return k > 0 && clock.Since(s.looked) < lookAgain && s.slots.freeOne(k, 0, nil) < 0
}

// freed notes that master i freed a slot that nobody waits for. The first caller that can goes there, unless
// one stands there.
func (s *semaphore) freed(i, slot int) {
	s.mu.Lock()
	defer s.mu.Unlock()
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
	for _, d := range w.stands {
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
	s, req := w.semaphore, &w.req
	defer w.leaveAll()
	w.goTo(m.nextSlot.start(req.Key, req.Permits), false)
	var looked <-chan struct{}
	again := time.NewTimer(m.lookIn())
	defer again.Stop()
	for first := true; ; {
		turn := false
		select {
		case <-w.told:
			if !m.Clients.Admitted() { // as in bid, but what it has won it keeps: others would come first at the slot
				if !w.any(func(s *attempt.Attempt) bool { return s.State == attempt.Held }) {
					return nil, nil
				}
				err := m.All.Reach(ctx, "acquire", req.Key)
				if err == nil {
					err = m.Clients.Admit(ctx, "acquire", req.Key)
				}
				switch unsure, _ := errors.AsType[*poll.MajorityError](err); {
				case err != nil && ctx.Err() != nil:
					return m.waited(ctx, w, unsure)
				case err != nil:
					return nil, nil
				}
			}
			if hold, err := w.won(ctx); hold != nil || err != nil {
				return hold, err
			}
			if looked == nil && first && req.Permits > 1 && w.refused() {
				if first = !s.scarce() || w.behind(); first {
					looked = s.ask(req.Permits)
				}
			}
			w.follow()
			continue
		case <-again.C:
			again.Reset(m.lookIn())
			if looked == nil && (len(w.stands) == 0 || req.Permits > 1 && m.isFirst(w)) {
				looked, first = s.ask(req.Permits), false
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
		w.choose(turn)
	}
}

// lookIn draws how long the first caller stands before it looks again.
func (m *Masters) lookIn() time.Duration { return lookAgain + rand.N(lookAgain) + 4*m.All.RoundTrip() }

// leaveAll gives up all slots. A hint goes to another caller.
func (w *waiter) leaveAll() {
	s := w.semaphore
	s.mu.Lock()
	s.standing = slices.DeleteFunc(s.standing, func(other *waiter) bool { return other == w })
	if w.hint >= 0 {
		s.hintLocked(w.hint)
	}
	s.mu.Unlock()
	w.dropAll()
}

// goTo asks for one more slot, unless that is below 0, and waits for it, unless once is set. Of too many, it gives up
// the one at which it has stood the longest.
func (w *waiter) goTo(slot int, once bool) {
	s, m := w.semaphore, w.semaphore.m
	if slot < 0 || !m.All.Begin() {
		return
	}
	since := m.All.Stamp(w.req.Since)
	if once {
		since = time.Time{}
	}
	d := m.newDriver(script.SlotKey(w.req.Key, slot), &w.req, since, w.told)
	s.mu.Lock()
	w.stands = append(w.stands, d)
	if !once {
		s.slots.stand(slot)
	}
	s.mu.Unlock()
	d.start()
	if len(w.stands) > maxStands {
		w.shed()
	}
}

// drop gives up the n-th slot.
func (w *waiter) drop(n int) {
	w.remove(n).giveUp()
	w.semaphore.m.All.End()
}

// shed gives up the slot at which w has stood the longest, but none that it has won and is to take in a moment.
func (w *waiter) shed() {
	if n := slices.IndexFunc(w.stands, func(d *driver) bool { return !d.is(attempt.Held) }); n >= 0 {
		w.drop(n)
	}
}

// dropAll gives up all slots.
func (w *waiter) dropAll() {
	for len(w.stands) > 0 {
		w.drop(0)
	}
}

// remove returns what the caller asked for at the n-th slot, at which it stands no more.
func (w *waiter) remove(n int) *driver {
	w.semaphore.mu.Lock()
	defer w.semaphore.mu.Unlock()
	d := w.stands[n]
	w.stands = slices.Delete(w.stands, n, n+1)
	return d
}

// choose goes where the last look says. With turn, it goes somewhere in any case.
func (w *waiter) choose(turn bool) {
	s, k := w.semaphore, w.req.Permits
	s.mu.Lock()
	s.sawLocked()
	crowded, at := false, w.at()
	slot := s.slots.freeOne(k, rand.Uint32(), at)
	switch last := len(at) - 1; {
	case slot >= 0:
	case turn && last >= 0:
		slot = s.slots.next(k, at[last], at)
	default:
		slot = s.slots.least(k, rand.Uint32(), at)
		if last >= 0 && slot >= 0 {
			if crowded = s.slots.crowded(at[0], slot); !crowded {
				slot = -1
			}
		}
	}
	if slot < 0 && len(at) == 0 {
		slot = s.m.nextSlot.start(w.req.Key, k) // too few masters answered
	}
	s.mu.Unlock()
	w.goTo(slot, false)
	if crowded {
		w.shed()
	}
}

// follow tries the slot that a hint is about, once, unless it tries another one, or has just asked for one: that is
// mostly free, and the other slot too is where a caller of the client that freed it begins. After votes that did not
// count it tries none before the next look: giving them back told all that the slot is free.
func (w *waiter) follow() {
	if w.any(func(s *attempt.Attempt) bool { return !s.Want.Wait || s.State == attempt.Asking }) {
		return
	}
	w.semaphore.mu.Lock()
	slot := w.hint
	w.hint = -1
	if w.semaphore.wary {
		slot = -1
	}
	w.semaphore.mu.Unlock()
	w.goTo(slot, true)
}

// refused reports whether others have the slots at which the caller stands.
func (w *waiter) refused() bool {
	return !w.any(func(s *attempt.Attempt) bool { return s.State != attempt.Waiting })
}

// behind reports whether somebody stands before the caller at its slot.
func (w *waiter) behind() bool {
	return w.any(func(s *attempt.Attempt) bool { return s.Ahead(&w.semaphore.m.conf) > 0 })
}

// any reports whether what the caller asked for at one of its slots is so.
func (w *waiter) any(is func(*attempt.Attempt) bool) bool {
	return slices.ContainsFunc(w.stands, func(d *driver) bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return is(&d.state)
	})
}

// won takes what was won, if anything was. The error says that waiting does not help.
func (w *waiter) won(ctx context.Context) (*Hold, error) {
	for n := 0; n < len(w.stands); {
		d := w.stands[n]
		if d.is(attempt.Held) {
			w.remove(n)
			w.dropAll() // before, so that the trace ends with the call
			hold, _ := w.semaphore.m.take(w, d)
			if hold == nil { // it has ended meanwhile
				w.semaphore.m.All.End()
			}
			return hold, nil
		}
		why := d.reason(nil)
		switch {
		case why != nil && why.Hopeless && ctx.Err() == nil:
			return nil, why
		case d.is(attempt.Ended):
			if why != nil && !errors.Is(why, poll.ErrTaken) { // else somebody else was faster
				w.semaphore.mu.Lock()
				w.semaphore.wary = true
				w.semaphore.mu.Unlock()
			}
			w.drop(n)
		default:
			n++
		}
	}
	return nil, nil
}

// isFirst reports whether no caller of this client has waited longer than w for what it wants. Those that count fewer
// permits know less than all of its slots.
func (m *Masters) isFirst(w *waiter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.names[w.line].line.waiters
	return all[slices.IndexFunc(all, func(other *waiter) bool { return other.req.Permits >= w.req.Permits })] == w
}
