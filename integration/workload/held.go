package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/redlock/internal/failure"
	"example.com/redlock/internal/history"
)

// held is a hold that was granted. Its owner may have entered it several times, and has a handle for each.
//
// Its methods are for the caller that has it. Watchers only look at it, and note its loss.
type held struct {
	*Process
	number  int
	name    string
	slot    int
	token   int64
	shared  bool      // watchers read it under mu, under which only the caller changes it
	handles []*handle // those that were not unlocked

	mu   sync.Mutex
	told bool // that it was lost
}

// handle is what one call was granted: a Hold, to be unlocked once.
type handle struct {
	Hold
	over   chan struct{} // closed when nobody needs to watch it any more
	closed bool          // over is; guarded by held.mu
}

// event returns an event about the hold.
func (hd *held) event(what history.What) history.Event {
	return history.Event{
		What: what, Hold: hd.number, Name: hd.name, Slot: hd.slot, Shared: hd.shared, Token: hd.token,
	}
}

// asks returns what a call asks for that is about the hold.
func (hd *held) asks(do history.Do) history.Event {
	return history.Event{Do: do, Hold: hd.number, Names: []string{hd.name}}
}

// add adds a handle, and watches its context.
//
// Goroutines: one, which ends when that context does, or when the handle is unlocked. Run waits for it.
func (hd *held) add(h Hold) {
	one := &handle{Hold: h, over: make(chan struct{})}
	hd.handles = append(hd.handles, one)
	ctx := h.Context()
	hd.watchers.Go(func() {
		looks := time.NewTicker(look) // for a caller that is busy with a call
		defer looks.Stop()
		for {
			select {
			case <-looks.C:
				hd.see(one)
			case <-ctx.Done():
				hd.lost(one, hd.rec.Now())
				return
			case <-one.over:
				return
			}
		}
	})
}

// lost records that the hold was seen to have ended at that time, unless it was unlocked before.
func (hd *held) lost(by *handle, at time.Duration) {
	hd.mu.Lock()
	defer hd.mu.Unlock()
	if by.closed || hd.told {
		return
	}
	hd.told = true
	cause := context.Cause(by.Context())
	e := hd.event(history.Lost)
	e.At, e.Until, e.Err, e.Text = at, hd.when(by.Until), failure.Of(cause), cause.Error()
	hd.rec.Add(e)
}

// alive records that the hold has not ended, if that is so, and reports it.
func (hd *held) alive() bool { return hd.see(hd.top()) }

// see is alive, by one of the handles. It records nothing once that was unlocked.
func (hd *held) see(one *handle) bool {
	at := hd.rec.Now()
	until := hd.when(one.Until)
	if one.Context().Err() != nil {
		return false
	}
	hd.mu.Lock()
	defer hd.mu.Unlock()
	if one.closed {
		return false
	}
	e := hd.event(history.Alive)
	e.At, e.Until = at, until
	hd.rec.Add(e)
	return true
}

// top returns the handle that was added last.
func (hd *held) top() *handle { return hd.handles[len(hd.handles)-1] }

// precise is how much time may pass between looks at two clocks. More passes only when the process was not
// running.
const precise = time.Millisecond

// when returns on the clock of the history what end says: not later, and earlier by at most as long as it
// takes to ask.
func (p *Process) when(end func() time.Time) time.Duration {
	for tries := 1; ; tries++ {
		now := p.rec.Now()
		until := now + time.Until(end())
		if p.rec.Now()-now < precise || tries == 10 {
			return until
		}
	}
}

// loss is how long a caller that sees an error of a hold's context waits for the channel of that context to be closed.
const loss = 2 * time.Second

// errStillValid and errNotTold are mistakes of a library that returned no error.
var (
	errStillValid = errors.New("the hold was unlocked, and yet its context has not ended")
	errNotTold    = errors.New("the hold had been lost, and yet Unlock returned no error")
)

// giveBack gives back handle number i by a call of unlock; the last handle ends the hold. It returns what unlock returned,
// or what is wrong with that.
func (hd *held) giveBack(ctx context.Context, i int, unlock func(Hold, context.Context) error) error {
	one := hd.handles[i]
	e := hd.asks(history.Leave)
	if !hd.alive() {
		hd.expectTold(one)
	}
	if len(hd.handles) == 1 {
		e.Do = history.Unlock
	} else {
		hd.handles = slices.Delete(slices.Clone(hd.handles), i, i+1)
	}
	told := hd.release(one)
	return hd.call(ctx, e, func(_ int, result *history.Event) error {
		err := unlock(one, ctx)
		if err != nil {
			return err
		}
		switch {
		case one.Context().Err() == nil:
			err = errStillValid
		case told:
			err = fmt.Errorf("%w: its context had ended: %w", errNotTold, context.Cause(one.Context()))
		default:
			return nil
		}
		result.Err, result.Text = history.Unknown, err.Error()
		return err
	})
}

// release ends the watch over a handle that is about to be unlocked, after which its context ends without
// any loss. It reports whether the hold was lost before.
func (hd *held) release(one *handle) (told bool) {
	hd.mu.Lock()
	defer hd.mu.Unlock()
	if !one.closed {
		one.closed = true
		close(one.over)
	}
	return hd.told
}

// expectTold waits until the loss of a hold whose context has ended is recorded. If its channel is not
// closed, that is recorded as a loss that was told as late as this.
func (hd *held) expectTold(one *handle) {
	select {
	case <-one.Context().Done():
	case <-time.After(loss):
	}
	hd.lost(one, hd.rec.Now())
}

// leave gives back all handles of a hold, mostly the last one first. Now and then it then uses a handle
// that it has given back, which must fail.
func (c *caller) leave(hd *held) {
	for range len(hd.handles) - 1 {
		i := len(hd.handles) - 1
		if c.chance(20) {
			i = 0
		}
		c.unlock(hd, i)
	}
	c.unlock(hd, 0)
	switch {
	case c.chance(4):
		hd.after(history.Unlock, Hold.Unlock)
	case c.chance(4):
		hd.after(history.Extend, Hold.Extend)
	}
}

// unlock gives back handle number i, mostly with all the time that it takes.
func (c *caller) unlock(hd *held, i int) {
	ctx, cancel := c.unlocking()
	defer cancel()
	_ = hd.giveBack(ctx, i, Hold.Unlock)
}

// unlocking returns the context of an unlock: mostly without an end, sometimes with one that is near, and
// sometimes one that has ended.
func (c *caller) unlocking() (context.Context, context.CancelFunc) {
	switch n := c.IntN(100); {
	case n < 5:
		return context.WithTimeout(context.Background(), 0)
	case n < 15:
		return within(context.Background(), c.between(time.Millisecond, 20*time.Millisecond))
	}
	return within(context.Background(), 0)
}

// leaveAll gives back several holds in one call. To the history it is a call for each.
func (c *caller) leaveAll(holds []*held, unlockAll func(context.Context) error) {
	ctx, cancel := c.unlocking()
	defer cancel()
	var from func(i int) error
	from = func(i int) error {
		if i == len(holds) {
			return unlockAll(ctx)
		}
		var all error
		_ = holds[i].giveBack(ctx, 0, func(Hold, context.Context) error {
			all = from(i + 1)
			return part(all, holds[i].name, c.cfg.Names)
		})
		return all
	}
	_ = from(0)
}

// part returns the part of an error that is about one of all names. An error that names none of them is about each.
func part(err error, name string, all []string) error {
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	for _, one := range joined.Unwrap() {
		names := func(name string) bool { return strings.Contains(one.Error(), strconv.Quote(name)) }
		if names(name) || !slices.ContainsFunc(all, names) {
			return one
		}
	}
	return nil
}

// after uses the handle that was unlocked last. Both unlocking it again and extending it must fail, as what
// nobody holds.
func (hd *held) after(do history.Do, act func(Hold, context.Context) error) {
	ctx := context.Background()
	_ = hd.call(ctx, hd.asks(do), func(_ int, result *history.Event) error {
		err := act(hd.top(), ctx)
		result.Err = history.NotHeld
		if failure.Of(err) != history.NotHeld {
			result.Err, result.Text = history.Unknown, fmt.Sprintf("after Unlock it returned %v", err)
		}
		return err
	})
}

// look is how long a caller has a hold without looking whether it is valid, at most.
const look = 50 * time.Millisecond

// stayIn does under the holds what they were taken for, until it is done, one of them has ended, or no
// more calls are to begin.
func (c *caller) stayIn(holds []*held) {
	now := c.rec.Now()
	end := now + c.stay()
	if !c.workUnder(holds) {
		return
	}
	if len(holds) == 1 {
		c.useHold(holds[0])
	}
	for !c.isEnding() && c.rec.Now() < end {
		c.pause(min(look, end-c.rec.Now()))
		for _, hd := range holds {
			if !hd.alive() {
				return
			}
		}
		if c.chance(15) && !c.workUnder(holds) {
			return
		}
	}
}

// workUnder does a little work under each hold, and reports whether all were alive.
func (c *caller) workUnder(holds []*held) bool {
	for _, hd := range holds {
		if !c.work(hd) {
			return false
		}
	}
	return true
}

// useHold does to a hold what can be done to it.
func (c *caller) useHold(hd *held) {
	if c.chance(15) {
		c.act(hd, history.Extend, Hold.Extend)
	}
	if c.chance(20) {
		c.enter(hd)
	}
	if c.chance(30) {
		c.downgrade(hd)
	}
}

// act does something to a hold. Its context may end before that could be done.
func (c *caller) act(hd *held, do history.Do, act func(Hold, context.Context) error) {
	ctx, cancel := c.brief(context.Background())
	defer cancel()
	_ = c.call(ctx, hd.asks(do), func(int, *history.Event) error { return act(hd.top(), ctx) })
}

// brief returns a context that ends with ctx, and soon.
func (c *caller) brief(ctx context.Context) (context.Context, context.CancelFunc) {
	return within(ctx, c.between(5*time.Millisecond, c.cfg.Waits))
}

// downgrade makes a writer of the name that has readers one of them.
func (c *caller) downgrade(hd *held) {
	if hd.name != c.cfg.Names[0] || hd.shared {
		return
	}
	hd.mu.Lock()
	hd.shared = true // whatever comes of it
	hd.mu.Unlock()
	c.act(hd, history.Downgrade, Hold.Downgrade)
}

// enter locks the name of the hold again, as its owner. A reader that asks to write is to be refused. If
// the hold had ended, its owner is granted another, which is used and given back here.
func (c *caller) enter(hd *held) {
	if hd.slot > 0 {
		return
	}
	ctx := hd.top().Context()
	if c.tree != nil && c.chance(50) {
		ctx = c.tree
	}
	ctx, cancel := c.brief(ctx)
	defer cancel()
	shared := hd.name == c.cfg.Names[0] && c.chance(60)
	var other *held
	event := hd.asks(history.Enter)
	event.Shared = shared
	_ = c.call(ctx, event, func(call int, result *history.Event) error {
		// Or what it asks for would be told of the call that got the hold.
		again, same, err := hd.top().Enter(context.WithValue(ctx, number{}, call), shared)
		switch {
		case err != nil:
			return err
		case !same:
			other = c.granted(call, again, shared)
			return nil
		}
		hd.add(again)
		if hd.shared && !shared {
			result.Err, result.Text = history.Unknown, "a reader's hold was entered to write"
		}
		return nil
	})
	if other != nil {
		c.work(other)
		c.leave(other)
	}
}
