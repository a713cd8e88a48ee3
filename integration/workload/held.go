package workload

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"example.com/redlock/internal/history"
)

// held is a hold as the history has it: one that was granted. Its owner may have entered it more than once,
// and then has as many handles.
//
// Its methods are for the caller that has it. Watchers only look, and note that it was lost.
type held struct {
	*process
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

// key names its registers.
func (hd *held) key() string { return (&history.Hold{Event: hd.event(history.Granted)}).Key() }

// add has the hold watched by the context of one more handle.
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
	e.At, e.Until, e.Err, e.Text = at, hd.until(by), hd.classify(cause), cause.Error()
	hd.rec.Add(e)
}

// alive records that the hold has not ended, if that is so, and reports it.
func (hd *held) alive() bool { return hd.see(hd.top()) }

// see is alive, by one of the handles. What its caller sees before it unlocks is recorded before that.
func (hd *held) see(one *handle) bool {
	at := hd.rec.Now()
	until := hd.until(one)
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

// until returns when the hold's validity ends, on the clock of the history: not later than the hold says,
// and earlier by at most as long as it takes to ask.
func (p *process) until(h Hold) time.Duration { return p.when(h.Until) }

// precise is how much time may pass between looks at two clocks. More passes only when the process was not
// running.
const precise = time.Millisecond

// when returns on the clock of the history what end says: not later, and earlier by at most as long as it
// takes to ask.
func (p *process) when(end func() time.Time) time.Duration {
	for tries := 1; ; tries++ {
		now := p.rec.Now()
		until := now + time.Until(end())
		if p.rec.Now()-now < precise || tries == 10 {
			return until
		}
	}
}

// loss is how long a caller that sees a hold's context to have ended waits for its channel to be closed as
// well.
const loss = 2 * time.Second

// errStillValid and errNotTold are mistakes of a library that returned no error.
var (
	errStillValid = errors.New("the hold was unlocked, and yet its context has not ended")
	errNotTold    = errors.New("the hold had been lost, and yet Unlock returned no error")
)

// giveBack gives back handle number i by a call of unlock, the last one for good. It returns what that
// returned, or what is wrong with it.
func (hd *held) giveBack(ctx context.Context, i int, unlock func(Hold) error) error {
	one := hd.handles[i]
	e := history.Event{Do: history.Leave, Hold: hd.number, Names: []string{hd.name}}
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
		err := unlock(one)
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
	timeout := time.After(loss)
	select {
	case <-one.Context().Done():
	case <-timeout:
	}
	hd.lost(one, hd.rec.Now())
}
