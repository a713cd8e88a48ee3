package multilock

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/multilock/poll"
)

// Lock takes a lock, or enters the hold that req.Owner has of it. See redlock.Client.Lock for its
// errors and its cost.
func (m *Masters) Lock(ctx context.Context, req Request) (*Hold, error) {
	req.trace = m.startCall(ctx, &req)
	hold, err := m.lock(ctx, &req)
	if err != nil {
		err = m.Clients.Identify(ctx, err)
	}
	req.trace.failed(err)
	return hold, err
}

func (m *Masters) lock(ctx context.Context, req *Request) (*Hold, error) {
	m.All.Greet(ctx)
	if req.Wait {
		if hold := m.takeOver(req, nil); hold != nil {
			return hold, nil
		}
		return m.wait(ctx, req)
	}
	if hold, err := m.own(ctx, req); hold != nil || err != nil {
		return hold, err
	}
	if req.Permits > 0 {
		return m.tryPermit(ctx, req)
	}
	return m.try(ctx, req)
}

// own returns what a try need not ask for: the hold of the caller's owner, entered again, or what the client keeps. The
// error says why it must not ask.
func (m *Masters) own(ctx context.Context, req *Request) (*Hold, error) {
	op, name := called(req.line())
	if err := m.All.Greeted(ctx, op, name); err != nil {
		return nil, err
	}
	if hold, err := m.enter(ctx, req); hold != nil || err != nil {
		return hold, err
	}
	if err := m.Clients.Admit(ctx, op, name); err != nil {
		return nil, err
	}
	return m.takeOver(req, nil), nil // not before it is established, or the try would find its own client's lock
}

// enter enters the hold that the caller's owner has of the name, if it has one.
func (m *Masters) enter(ctx context.Context, req *Request) (*Hold, error) {
	for req.Owner != nil && req.Permits == 0 {
		h := m.owned(req.Key, req.Owner)
		if h == nil {
			break
		}
		err := h.enter(ctx, req)
		switch {
		case err == nil:
			return h, nil
		case !errors.Is(err, errEnded):
			return nil, err
		}
		h.d.drain() // it ended meanwhile, and is forgotten then
	}
	return nil, nil
}

// try tries to take the lock without waiting for it.
func (m *Masters) try(ctx context.Context, req *Request) (*Hold, error) {
	d := m.tryLater(req)
	if d == nil {
		return nil, poll.ErrClosed
	}
	d.start()
	return m.tried(ctx, req, d)
}

// tryLater makes the driver of a try, which tried ends. It is nil when the client is closed.
func (m *Masters) tryLater(req *Request) *driver {
	if !m.All.Begin() {
		return nil
	}
	return m.newDriver(req.Key, req, time.Time{}, make(chan struct{}, 1))
}

// tried waits for what becomes of a try. The error is a [*poll.MajorityError], or says that the client is closed or conflicts.
func (m *Masters) tried(ctx context.Context, req *Request, d *driver) (*Hold, error) {
	defer m.All.End()
	var cut error
	select {
	case <-d.decided:
	case <-m.All.Closing():
		cut = poll.ErrClosed
	case <-ctx.Done():
		cut = poll.Ended(ctx)
	}
	h, why := d.take(req, cut)
	if h == nil {
		d.giveUp()
		if why == nil || cut == poll.ErrClosed {
			return nil, poll.ErrClosed
		}
		return nil, why
	}
	m.checkBefore(h)
	op, name := called(h.d.key)
	if why := m.Clients.Admit(ctx, op, name); why != nil { // it was stopped, or cut off, while it asked
		h.end(attempt.End, why)
		return nil, why
	}
	return h, nil
}

// wait waits for the caller's turn, and then for the lock.
func (m *Masters) wait(ctx context.Context, req *Request) (*Hold, error) {
	w := m.join(req)
	defer m.leave(w)
	if !m.All.KnowsTime() {
		if err := m.await(ctx, w, m.All.NoTime); err != nil {
			return nil, err
		}
	}
	var unsure *poll.MajorityError // why the caller could not enter its owner's hold, if it tried last
	for {
		hold, err := m.enter(ctx, req)
		if hold != nil {
			return hold, nil
		}
		if err == nil && !m.Clients.Admitted() {
			if err = m.await(ctx, w, m.All.Gone); err != nil {
				return nil, err
			}
			op, name := called(w.line)
			err = m.Clients.Admit(ctx, op, name)
		}
		var ready <-chan struct{}
		unsure, _ = errors.AsType[*poll.MajorityError](err)
		switch {
		case unsure != nil && unsure.Hopeless:
			return nil, unsure
		case unsure != nil && ctx.Err() != nil:
		case unsure != nil:
			m.report(w.line, unsure)
			retry := make(chan struct{})
			time.AfterFunc(again, func() { close(retry) })
			ready = retry
		case err != nil:
			return nil, err
		case !w.bids():
			ready = w.turn
		default:
			if hold := m.takeOver(req, w); hold != nil { // which the client kept before it was established, or the caller in line
				return hold, nil
			}
			bid := m.bid
			if req.Permits > 0 {
				bid = m.stand
			}
			if hold, err := bid(ctx, w); hold != nil || err != nil {
				return hold, err
			}
			ready = closedChan
		}
		if req.trace != nil && ready != closedChan {
			req.trace.waitsHere(w, unsure)
		}
		select {
		case <-ready:
		case <-w.enter:
		case <-ctx.Done():
		case <-m.All.Closing():
			return nil, poll.ErrClosed
		}
		if ctx.Err() != nil {
			return m.waited(ctx, w, unsure)
		}
	}
}

// await waits until nothing is lacking, however long that takes. Meanwhile the log and the call are told what is.
//
// Cost: nothing is sent.
func (m *Masters) await(ctx context.Context, w *waiter, lacking func(op, name string) *poll.MajorityError) error {
	return m.All.Await(ctx, func() *poll.MajorityError {
		why := lacking(called(w.line))
		if why == nil || why.Hopeless {
			return why // it is no wait
		}
		m.report(w.line, why)
		if w.req.trace != nil {
			w.req.trace.waits(0, -1, why)
		}
		return why
	})
}

// again is how long a caller that found no quorum to enter its owner's hold waits before it looks
// again.
const again = 60 * time.Millisecond

// bid waits for what becomes of what w asks for. It returns neither a hold nor an error if the caller
// should look again.
func (m *Masters) bid(ctx context.Context, w *waiter) (*Hold, error) {
	if !m.contend(w) {
		return nil, poll.ErrClosed
	}
	select {
	case <-w.told:
	case <-w.enter:
	case <-m.All.Closing():
	case <-ctx.Done():
	}
	if !m.Clients.Admitted() { // it was stopped, or cut off: others may be established that conflict
		if ctx.Err() == nil { // else what it asked for says why it waited
			m.dropAll(w, nil)
		}
		return nil, nil
	}
	hold, err := m.won(ctx, w)
	if hold == nil && m.All.Closed() {
		err = poll.ErrClosed
	}
	return hold, err
}

// waited says why a wait was over when its context ended, unless what the caller wants was won meanwhile.
func (m *Masters) waited(ctx context.Context, w *waiter, unsure *poll.MajorityError) (*Hold, error) {
	cut := poll.Ended(ctx)
	last := cmp.Or(unsure, m.reason(w, cut))
	if m.Clients.Admitted() {
		if hold, _ := m.won(ctx, w); hold != nil {
			return hold, nil
		}
	}
	if last != nil {
		if !errors.Is(last, ctx.Err()) {
			last = last.With(cut)
		}
		return nil, last
	}
	op, name := called(w.line)
	return nil, poll.Fail(op, name, cut, poll.ErrTaken, errOther)
}

// TryAll takes several locks at the same time, without waiting for any: holds and errs are those of
// reqs, in their order. Locks that an owner of reqs holds already are entered again.
//
// Cost: as that of a lock or permit for each, but locks that are not entered again are written together to
// each master.
func (m *Masters) TryAll(ctx context.Context, reqs []Request) (holds []*Hold, errs []error) {
	m.All.Greet(ctx)
	holds, errs = make([]*Hold, len(reqs)), make([]error, len(reqs))
	drivers := make([]*driver, len(reqs))
	var again sync.WaitGroup
	for i := range reqs {
		req := &reqs[i]
		if req.Permits > 0 || m.owned(req.Key, req.Owner) != nil {
			again.Go(func() { holds[i], errs[i] = m.Lock(ctx, *req) })
			continue
		}
		req.trace = m.startCall(ctx, req)
		if holds[i], errs[i] = m.own(ctx, req); holds[i] != nil || errs[i] != nil {
			continue
		}
		if drivers[i] = m.tryLater(req); drivers[i] == nil {
			errs[i] = poll.ErrClosed
		}
	}
	for _, d := range drivers {
		if d != nil {
			d.startAhead()
		}
	}
	for _, n := range m.All.Nodes {
		n.Flush()
	}
	for i, d := range drivers {
		if d != nil {
			holds[i], errs[i] = m.tried(ctx, &reqs[i], d)
		}
		if t := reqs[i].trace; t != nil { // else it may be entered again at this moment
			t.failed(errs[i])
		}
	}
	again.Wait()
	return holds, errs
}
