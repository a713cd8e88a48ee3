package workload

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"example.com/redlock/internal/history"
)

// process is what the callers of one process share.
type process struct {
	cfg      Config
	locker   Locker
	classify func(error) history.Failure
	rec      *history.Recorder
	ending   <-chan struct{} // closed when no more calls are to begin

	calm         atomic.Bool    // nothing is done to anybody: see Calm
	closing      atomic.Bool    // Close was called
	calls, holds atomic.Int64   // how many there were: the numbers of the last ones
	watchers     sync.WaitGroup // one goroutine for each handle
}

// call records a call and what came of it: do is the call itself, in the course of which it may record
// grants. do may set what the return tells. An error that is not documented is recorded as Unknown.
func (p *process) call(ctx context.Context, e history.Event, do func(call int, result *history.Event) error) (err error) {
	e.What, e.Call = history.Called, int(p.calls.Add(1))
	if end, ok := ctx.Deadline(); ok {
		e.Deadline = p.when(func() time.Time { return end })
	}
	p.rec.Add(e)
	result := history.Event{What: history.Returned, Call: e.Call, Do: e.Do}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic: %v\n%s", v, debug.Stack())
			result.Err, result.Text = history.Unknown, err.Error()
		}
		p.rec.Add(result)
	}()
	err = do(e.Call, &result)
	if result.Err == "" && err != nil {
		result.Err, result.Text = p.failure(ctx, e.Do, err), err.Error()
	}
	return err
}

// failure says of what kind the error of a call is, Unknown if its documentation has no such error.
func (p *process) failure(ctx context.Context, do history.Do, err error) history.Failure {
	as := p.classify(err)
	if as == history.Ended && ctx.Err() == nil || as == history.Closed && !p.closing.Load() {
		return history.Unknown
	}
	if !p.locker.MayFail(do, as) {
		return history.Unknown
	}
	return as
}

// granted records that a call was granted a hold, and returns it.
func (p *process) granted(call int, h Hold, shared bool) *held {
	at := p.rec.Now() // before anybody looks whether it has ended already
	hd := &held{process: p, number: int(p.holds.Add(1)), name: h.Name(), slot: h.Slot(), token: h.Token(), shared: shared}
	e := hd.event(history.Granted)
	e.At, e.Call, e.Until = at, call, hd.until(h)
	p.rec.Add(e)
	hd.add(h)
	return hd
}

// isEnding reports whether no more calls are to begin.
func (p *process) isEnding() bool {
	select {
	case <-p.ending:
		return true
	default:
		return false
	}
}

// pause waits for d, or until no more calls are to begin.
func (p *process) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.ending:
	}
}
