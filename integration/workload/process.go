package workload

import (
	"bytes"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"example.com/redlock/internal/failure"
	"example.com/redlock/internal/history"
)

// Process is what the callers of one process share.
type Process struct {
	cfg     Config
	locker  Locker
	rec     *history.Recorder
	callers []*caller
	ending  <-chan struct{} // closed when no more calls are to begin

	calm         atomic.Bool    // nothing is done to anybody: see Calm
	closing      atomic.Bool    // Close was called
	calls, holds atomic.Int64   // how many there were: the numbers of the last ones
	watchers     sync.WaitGroup // one goroutine for each handle
}

// New returns a process whose callers, each with a seed of its own, take locks of locker.
func New(cfg Config, locker Locker, rec *history.Recorder) *Process {
	p := &Process{cfg: cfg, locker: locker, rec: rec, callers: make([]*caller, cfg.Callers)}
	who := fnv.New64()
	_, _ = io.WriteString(who, cfg.Who)
	for i := range p.callers {
		p.callers[i] = p.caller(rand.NewPCG(cfg.Seed, who.Sum64()+uint64(i)))
	}
	return p
}

func (p *Process) caller(seed rand.Source) *caller {
	return &caller{Process: p, draw: draw{rand.New(seed)}}
}

// Serve has the callers make visits until ending is closed, and returns when the last visits are over. When waits ends,
// calls that wait give up.
//
// Goroutines: one for each caller, and one to watch each hold.
func (p *Process) Serve(waits context.Context, ending <-chan struct{}) {
	p.ending = ending
	var serving sync.WaitGroup
	for _, c := range p.callers {
		serving.Go(func() { c.visits(waits) })
	}
	serving.Wait()
}

// LineUp is one more visit of a caller, who takes what do asks for, does a little work, and gives it back.
func (p *Process) LineUp(ctx context.Context, do history.Do) error {
	return p.callers[0].lineUp(ctx, do)
}

// Close closes the library's client, and records that.
func (p *Process) Close() error {
	p.closing.Store(true)
	return p.call(context.Background(), history.Event{Do: history.CloseClient}, func(int, *history.Event) error { return p.locker.Close() })
}

// call records a call and its result. do makes the call, and may record grants and set what is recorded of the return. An
// error that is not documented is recorded as Unknown.
func (p *Process) call(ctx context.Context, e history.Event, do func(call int, result *history.Event) error) (err error) {
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

// failure returns the kind of a call's error: Unknown if the documentation of the call has no such error.
func (p *Process) failure(ctx context.Context, do history.Do, err error) history.Failure {
	as := failure.Of(err)
	if as == history.Ended && ctx.Err() == nil || as == history.Closed && !p.closing.Load() {
		return history.Unknown
	}
	if !mayFail(do, as) {
		return history.Unknown
	}
	return as
}

// mayFail reports whether the documentation of a method has such an error.
func mayFail(do history.Do, as history.Failure) bool {
	if as == history.Ended || as == history.Closed {
		return true
	}
	switch do {
	case history.Lock, history.LockFor, history.LockAll, history.RLock, history.Acquire:
		return false // an outage that does not pass by itself is not among the faults of a trial
	case history.TryLock, history.TryRLock, history.TryAcquire:
		return as == history.Taken || as == history.NoQuorum
	case history.Enter:
		// The context is the hold's, which ends with the loss as its cause.
		return as == history.Upgrade || as == history.NoLock || as == history.NoQuorum
	case history.Extend, history.Downgrade, history.Unlock, history.Leave:
		return as == history.NoLock || as == history.NoQuorum
	}
	return do == history.CloseClient && as == history.NoQuorum
}

// granted records that a call was granted a hold, and returns it.
func (p *Process) granted(call int, h Hold, shared bool) *held {
	at := p.rec.Now() // before anybody looks whether it has ended already
	hd := &held{Process: p, number: int(p.holds.Add(1)), name: h.Name(), slot: h.Slot(), token: h.Token(), shared: shared}
	e := hd.event(history.Granted)
	e.At, e.Call, e.Until = at, call, hd.when(h.Until)
	p.rec.Add(e)
	hd.add(h)
	return hd
}

// isEnding reports whether no more calls are to begin.
func (p *Process) isEnding() bool {
	select {
	case <-p.ending:
		return true
	default:
		return false
	}
}

// pause waits for d, or until no more calls are to begin.
func (p *Process) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.ending:
	}
}

const (
	// pulse is how often a process looks whether it runs.
	pulse = 10 * time.Millisecond
	// stall is how long it must not have run for that to be recorded. It is so little more than a pulse that what is
	// not recorded makes nobody late.
	stall = 15 * time.Millisecond
)

// beat records, until ending is closed, when the process did not run, or when one of its threads waited for a processor:
// that holds up what the thread carries, while others of the process go on. delays returns for how long each thread has
// waited so far.
func beat(rec *history.Recorder, delays func() map[string]time.Duration, ending <-chan struct{}) {
	ticker := time.NewTicker(pulse)
	defer ticker.Stop()
	last, kept := rec.Now(), delays()
	for {
		select {
		case <-ticker.C:
		case <-ending:
			return
		}
		now := rec.Now()
		away := now - last
		waited := delays()
		for thread, all := range waited {
			away = max(away, all-kept[thread]) // one that is new has waited since the last pulse
		}
		kept = waited
		if away > stall {
			rec.Add(history.Event{What: history.Stall, At: now, From: max(0, now-away)})
		}
		last = now
	}
}

// runDelays returns for how long each thread of this process has waited for a processor so far. It is empty
// where the system does not tell.
func runDelays() map[string]time.Duration {
	delays := map[string]time.Duration{}
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, file := range files {
		text, err := os.ReadFile(file) // time on a processor, time of waiting for one, both in ns, and turns
		if err != nil {
			continue // the thread has ended
		}
		if fields := bytes.Fields(text); len(fields) > 1 {
			if ns, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
				delays[file] = time.Duration(ns)
			}
		}
	}
	return delays
}

// work writes to what the hold protects, unless it is a reader's, and reports whether the hold was alive before and after
// that. As in any program, some time passes between the last look at the hold and the write. If the hold ends in that
// time, only its token can tell.
func (c *caller) work(hd *held) bool {
	if alive := hd.alive(); !alive || hd.shared {
		return alive
	}
	c.pause(c.between(100*time.Microsecond, 60*time.Millisecond))
	c.rec.Add(hd.event(history.Wrote))
	return hd.alive()
}
