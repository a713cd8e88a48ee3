package workload

import (
	"bufio"
	"context"
	"hash/fnv"
	"io"
	"math/rand/v2"
	"sync"
	"time"

	"example.com/redlock/integration/register"
	"example.com/redlock/internal/history"
)

// What a trial tells a process on its input: from now on nothing is done to anybody, or anything may be. In
// calm, callers mostly stand in line: where queues are long and nothing is in their way, a judge can tell who
// stood before whom.
const (
	Calm = "calm\n"
	Harm = "harm\n"
)

const (
	// lastWaits is how long calls that wait may go on once no more are to begin.
	lastWaits = 2 * time.Second
	// lastCalls is how long the end of the process then waits for callers, all of which have enough time
	// by far.
	lastCalls = 15 * time.Second
)

// Run is the life of a client process: it takes locks until input ends, and then closes the library's
// client and looks what is left of it. The error is that of the start, or of the history.
//
// Goroutines: one for each caller, one to watch each hold, and one that notices stalls. Run waits for all
// of them. A caller that hangs in the library is left behind: the history then shows its call.
func Run(cfg Config, open func(Config) (Locker, error), classify func(error) history.Failure, rec *history.Recorder, input io.Reader) error {
	before := takeStock()
	cfg.Tell = rec.Add
	locker, err := open(cfg)
	if err != nil {
		return err
	}
	ending := make(chan struct{})
	p := &process{cfg: cfg, locker: locker, classify: classify, rec: rec, ending: ending}
	beating, served := make(chan struct{}), make(chan struct{})
	var heart, serving sync.WaitGroup
	heart.Go(func() { beat(rec, runDelays, beating) })

	waits, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	callers := p.callers()
	for _, c := range callers {
		serving.Go(func() { c.visits(waits) })
	}
	go func() { // ends with the callers
		serving.Wait()
		close(served)
	}()
	for lines := bufio.NewReader(input); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		p.calm.Store(line == Calm)
	}
	close(ending)
	all := finish(served, giveUp)
	p.closing.Store(true)
	_ = p.call(context.Background(), history.Event{Do: history.CloseClient}, func(int, *history.Event) error { return locker.Close() })
	if all {
		for _, c := range callers {
			c.end()
		}
		p.watchers.Wait()
	}
	close(beating)
	heart.Wait()
	p.audit(before)
	return rec.Err()
}

// finish waits for callers, and ends the calls that wait meanwhile. It reports whether all callers came
// back.
func finish(served <-chan struct{}, giveUp func()) bool {
	for _, patience := range []time.Duration{lastWaits, lastCalls} {
		select {
		case <-served:
			return true
		case <-time.After(patience):
			giveUp()
		}
	}
	return false
}

// callers returns the callers, each with a seed of its own.
func (p *process) callers() []*caller {
	who := fnv.New64()
	_, _ = io.WriteString(who, p.cfg.Who)
	callers := make([]*caller, p.cfg.Callers)
	for i := range callers {
		seed := rand.NewPCG(p.cfg.Seed, who.Sum64()+uint64(i))
		callers[i] = &caller{process: p, draw: draw{rand.New(seed)}}
		if p.cfg.Register != "" {
			callers[i].registers = register.NewClient(p.cfg.Register)
		}
	}
	return callers
}

// end does what is to do after Close: the holds that it gave back are unlocked, which must fail.
func (c *caller) end() {
	for _, hd := range c.left {
		_ = hd.giveBack(context.Background(), 0, func(h Hold) error { return h.Unlock(context.Background()) })
	}
	if c.registers != nil {
		c.registers.Close()
	}
}
