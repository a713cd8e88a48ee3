package multilock

import (
	"context"
	"sync"
)

// TryAll takes several locks at the same time, without waiting for any: holds and errs are those of
// reqs, in their order. Locks that an owner of reqs holds already are entered again.
//
// Cost: as that of a lock for each, but those that are not entered again share one script call on each
// master.
func (m *Masters) TryAll(ctx context.Context, reqs []Request) (holds []*Hold, errs []error) {
	m.greet(ctx)
	holds, errs = make([]*Hold, len(reqs)), make([]error, len(reqs))
	contests := make([]*contest, len(reqs))
	var again sync.WaitGroup
	for i, req := range reqs {
		if h := m.owned(req.target(), req.Owner); h != nil {
			again.Go(func() { holds[i], errs[i] = m.Lock(ctx, req) })
			continue
		}
		reqs[i].trace = m.startCall(ctx, &req)
		if errs[i] = m.greeted(ctx, req.target()); errs[i] == nil {
			errs[i] = m.Admit(ctx, req.Key)
		}
		if errs[i] != nil {
			continue
		}
		if contests[i] = m.tryLater(reqs[i]); contests[i] == nil {
			errs[i] = ErrClosed
		}
	}
	m.startAll(contests)
	for i, c := range contests {
		if c != nil {
			holds[i], errs[i] = m.tried(ctx, reqs[i], c)
		}
		if t := reqs[i].trace; t != nil && errs[i] != nil {
			t.failed(errs[i])
		}
	}
	again.Wait()
	return holds, errs
}

// startAll starts contests, if any, so that they share a script call on each master.
func (m *Masters) startAll(contests []*contest) {
	m.queueAll(contests)
	for _, n := range m.nodes {
		n.Flush()
	}
}

// queueAll starts contests, if any. What they send is written with what is sent next, or by Node.Flush.
func (m *Masters) queueAll(contests []*contest) {
	for _, c := range contests {
		if c != nil {
			c.gather(true)
			c.start()
			c.drain() // somebody else may be sending it
			c.gather(false)
		}
	}
}

// gather has what the contest sends left to Node.Flush, or no longer.
func (c *contest) gather(on bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.together = on
}
