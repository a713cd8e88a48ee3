package multilock

import (
	"cmp"
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
	// lingers is how long a client goes on listening to a semaphore that none of its callers waits for.
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
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.given) == maxBids {
		s.given = slices.Delete(s.given, 0, 1)
	}
	s.given = append(s.given, givenSlot{semaphore, slot})
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
		b, cut := m.askSlots(req.Key, req.Permits, func(b *poll.Ballot) bool {
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

// askSlots asks the masters which slots of a semaphore are taken, until enough is known.
//
// Cost: one script call on each master.
func (m *Masters) askSlots(semaphore string, permits int, enough func(*poll.Ballot) bool) *poll.Poll {
	return m.All.Ask(script.Look(semaphore, permits), enough)
}

// answered reports whether a majority has answered.
func (m *Masters) answered(b *poll.Ballot) bool {
	done, _, _ := b.Tally()
	return m.All.Majority(done)
}

// known returns what the answers to askSlots say.
func known(b *poll.Ballot, permits int) *slots {
	s := &slots{masters: b.N}
	s.see(b, permits)
	return s
}

// allTaken is the error where no slot is free, by the answers to askSlots.
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
	idle *time.Timer // ends it when nobody has stood there for a while

	mu       sync.Mutex
	listens  bool          // since its first look: to what the masters tell of its slots
	slots    *slots        // by the last look
	looked   clock.Instant // when that began
	look     *look         // under way, nil if none is
	standing []*stander    // in the order in which they began to stand
	wary     bool          // since the last look, a caller got votes that do not count
}

// look is a look at the first slots of a semaphore, for all callers that wait for it.
type look struct {
	asked *poll.Poll
	slots int // so many
	began clock.Instant
}

// stander makes w one of those who stand at slots of its semaphore.
func (m *Masters) stander(w *waiter) *stander {
	m.mu.Lock()
	s, known := m.semaphores[w.line]
	if !known {
		s = &semaphore{m: m, key: w.line, slots: &slots{masters: m.All.Len()}}
		s.idle = time.AfterFunc(lingers, s.forget)
		m.semaphores[w.line] = s
	}
	s.idle.Stop()
	p := &stander{s: s, w: w, woken: make(chan struct{}, 1), hint: -1}
	s.mu.Lock()
	s.standing = append(s.standing, p)
	s.mu.Unlock()
	m.mu.Unlock()
	return p
}

// forget ends s, unless a caller stands again.
func (s *semaphore) forget() {
	s.m.mu.Lock()
	s.mu.Lock()
	over := len(s.standing) == 0 && s.m.semaphores[s.key] == s
	listened := s.listens
	s.mu.Unlock()
	if over {
		delete(s.m.semaphores, s.key)
	}
	s.m.mu.Unlock()
	if over && listened {
		for _, n := range s.m.All.Nodes {
			n.Unwatch(s.key)
		}
	}
}

// ask looks which of the first k slots are taken, unless that is known well enough. When the channel is
// closed, saw tells. From the first look on, the client listens to what the masters tell of the slots: where a permit
// is there at once, nobody needs to.
func (s *semaphore) ask(k int) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.listens {
		s.listens = true
		s.m.subscribe()
		for _, n := range s.m.All.Nodes {
			n.Watch(s.key)
		}
	}
	now := clock.Now()
	switch {
	case s.look != nil && s.look.slots >= k:
	case len(s.slots.load) >= k && now.Sub(s.looked) < time.Duration(k)*freshFor:
		return closedChan
	default:
		name, _ := script.SlotOf(s.key)
		s.look = &look{s.m.askSlots(name, k, s.m.answered), k, now}
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
	var first *stander
	for _, p := range s.standing {
		switch {
		case slices.Contains(p.at(), slot), p.hint == slot:
			return
		case first == nil && p.hint < 0 && slot < p.w.req.Permits:
			first = p
		}
	}
	if first != nil {
		first.hint = slot
		poke(first.woken)
	}
}

// stander is a caller that stands at slots.
type stander struct {
	s     *semaphore
	w     *waiter
	woken chan struct{} // told when a driver is held, has ended, or finds its slot taken, and of a hint

	// semaphore.mu guards these. The caller alone changes where it stands.
	stands []*driver // at each slot, in the order in which it came there; one that tries a slot does not wait for it
	hint   int       // the slot to try next, -1 if there is none
}

// at returns the slots at which p stands.
func (p *stander) at() []int {
	at := make([]int, 0, maxStands+1)
	for _, d := range p.stands {
		at = append(at, d.slot)
	}
	return at
}

// stand waits for a permit in the queues of slots. It returns neither a hold nor an error if ctx has ended.
//
// A caller goes first to the slot that the client gave back last: it is free, or its queue is one shorter now. If it is
// taken, the caller looks, unless none was free a moment ago. The one that has waited the longest looks again from time to
// time, and goes to one more slot each time: so nobody that came later overtakes it for long, whichever slots
// are held for long. So does a caller that stands nowhere any more, as what it won ended before it could take it.
func (m *Masters) stand(ctx context.Context, w *waiter) (*Hold, error) {
	p, req := m.stander(w), &w.req
	s := p.s
	defer p.leave()
	p.goTo(m.nextSlot.start(req.Key, req.Permits), false)
	var looked <-chan struct{}
	again := time.NewTimer(m.lookIn())
	defer again.Stop()
	for first := true; ; {
		turn := false
		select {
		case <-p.woken:
			if !m.Clients.Admitted() { // as in bid, but what it has won it keeps: others would come first at the slot
				if !p.any(func(s *attempt.Attempt) bool { return s.State == attempt.Held }) {
					return nil, nil
				}
				if m.All.Reach(ctx, "acquire", req.Key) != nil || m.Clients.Admit(ctx, "acquire", req.Key) != nil {
					return nil, nil
				}
			}
			if hold, err := p.won(ctx); hold != nil || err != nil {
				return hold, err
			}
			if looked == nil && first && req.Permits > 1 && p.refused() {
				if first = !s.scarce() || p.behind(); first {
					looked = s.ask(req.Permits)
				}
			}
			p.follow()
			continue
		case <-again.C:
			again.Reset(m.lookIn())
			if looked == nil && (len(p.stands) == 0 || req.Permits > 1 && m.isFirst(w)) {
				looked, first = s.ask(req.Permits), false
			}
			continue
		case <-looked:
			turn = !first
			looked, first = nil, false
		case <-ctx.Done():
			m.noteStand(p, poll.Ended(ctx))
			return nil, nil
		case <-m.All.Closing():
			return nil, poll.ErrClosed
		}
		p.choose(turn)
	}
}

// lookIn draws how long the first caller stands before it looks again.
func (m *Masters) lookIn() time.Duration { return lookAgain + rand.N(lookAgain) + 4*m.All.RoundTrip() }

// leave gives up all slots. A hint goes to another caller.
func (p *stander) leave() {
	p.s.mu.Lock()
	p.s.standing = slices.DeleteFunc(p.s.standing, func(other *stander) bool { return other == p })
	if p.hint >= 0 {
		p.s.hintLocked(p.hint)
	}
	if len(p.s.standing) == 0 {
		p.s.idle.Reset(lingers)
	}
	p.s.mu.Unlock()
	p.dropAll()
}

// goTo asks for one more slot, unless that is below 0, and waits for it, unless once is set. Of too many, it gives up
// the one at which it has stood the longest.
func (p *stander) goTo(slot int, once bool) {
	m := p.s.m
	if slot < 0 || !m.All.Begin() {
		return
	}
	since := m.All.Stamp(p.w.req.Since)
	if once {
		since = time.Time{}
	}
	d := m.newDriver(script.SlotKey(p.w.req.Key, slot), &p.w.req, since, p.woken)
	p.s.mu.Lock()
	p.stands = append(p.stands, d)
	if !once {
		p.s.slots.stand(slot)
	}
	p.s.mu.Unlock()
	d.start()
	if len(p.stands) > maxStands {
		p.shed()
	}
}

// drop gives up the n-th slot.
func (p *stander) drop(n int) {
	p.remove(n).giveUp()
	p.s.m.All.End()
}

// shed gives up the slot at which p has stood the longest, but none that it has won and is to take in a moment.
func (p *stander) shed() {
	if n := slices.IndexFunc(p.stands, func(d *driver) bool { return !d.is(attempt.Held) }); n >= 0 {
		p.drop(n)
	}
}

// dropAll gives up all slots.
func (p *stander) dropAll() {
	for len(p.stands) > 0 {
		p.drop(0)
	}
}

// remove returns what the caller asked for at the n-th slot, at which it stands no more.
func (p *stander) remove(n int) *driver {
	p.s.mu.Lock()
	defer p.s.mu.Unlock()
	d := p.stands[n]
	p.stands = slices.Delete(p.stands, n, n+1)
	return d
}

// choose goes where the last look says. With turn, it goes somewhere in any case.
func (p *stander) choose(turn bool) {
	s, k := p.s, p.w.req.Permits
	s.mu.Lock()
	s.sawLocked()
	crowded, at := false, p.at()
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
		slot = s.m.nextSlot.start(p.w.req.Key, k) // too few masters answered
	}
	s.mu.Unlock()
	p.goTo(slot, false)
	if crowded {
		p.shed()
	}
}

// follow tries the slot that a hint is about, once, unless it tries another one. After votes that did not count it tries
// none before the next look: giving them back told all that the slot is free.
func (p *stander) follow() {
	if slices.ContainsFunc(p.stands, func(d *driver) bool { return !d.state.Want.Wait }) {
		return
	}
	p.s.mu.Lock()
	slot := p.hint
	p.hint = -1
	if p.s.wary {
		slot = -1
	}
	p.s.mu.Unlock()
	p.goTo(slot, true)
}

// refused reports whether others have the slots at which the caller stands.
func (p *stander) refused() bool {
	return !p.any(func(s *attempt.Attempt) bool { return s.State != attempt.Waiting })
}

// behind reports whether somebody stands before the caller at its slot.
func (p *stander) behind() bool {
	return p.any(func(s *attempt.Attempt) bool { return s.Ahead(&p.s.m.conf) > 0 })
}

// any reports whether what the caller asked for at one of its slots is so.
func (p *stander) any(is func(*attempt.Attempt) bool) bool {
	return slices.ContainsFunc(p.stands, func(d *driver) bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return is(&d.state)
	})
}

// won takes what was won, if anything was. The error says that waiting does not help.
func (p *stander) won(ctx context.Context) (*Hold, error) {
	for n := 0; n < len(p.stands); {
		d := p.stands[n]
		if d.is(attempt.Held) {
			p.remove(n)
			p.dropAll() // before, so that the trace ends with the call
			hold := p.s.m.take(p.w, d)
			if hold == nil { // it has ended meanwhile
				p.s.m.All.End()
			}
			return hold, nil
		}
		why := d.reason(nil)
		switch {
		case why != nil && why.Hopeless && ctx.Err() == nil:
			return nil, why
		case d.is(attempt.Ended):
			if why != nil && !errors.Is(why, poll.ErrTaken) { // else somebody else was faster
				p.s.mu.Lock()
				p.s.wary = true
				p.s.mu.Unlock()
			}
			p.drop(n)
		default:
			n++
		}
	}
	return nil, nil
}

// isFirst reports whether no caller of this client has waited longer than w for what it wants.
func (m *Masters) isFirst(w *waiter) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.names[w.line].line.waiters[0] == w
}

// noteStand remembers what a caller waited for whose context has ended with cut, which is no matter of the others'.
func (m *Masters) noteStand(p *stander, cut error) {
	var why, short *poll.MajorityError
	for _, d := range p.stands {
		why, short = cmp.Or(d.reason(nil), why), cmp.Or(d.reason(cut), short)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := m.names[p.w.line]
	n.why, p.w.short = cmp.Or(why, n.why), short
}
