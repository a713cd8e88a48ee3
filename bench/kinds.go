package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/redlock/redlock"
)

// The other kinds of locks: readers, several names and permits, beside a plain lock in the same run.

func kindsTrials() []trial {
	of := func(setting, title string, measure measurement) trial {
		return trial{scenario: "kinds", setting: setting, title: title, among: []string{"redlock"}, measure: measure}
	}
	trials := []trial{of("uncontended", "one caller, fresh names: each kind in turn, and its time as a multiple of that of a plain Lock", measureKinds)}
	for _, n := range []int{1, 4, 16} {
		title := fmt.Sprintf("%s of one name, held for %d ms each time", counted(n, "reader"), readSection.Milliseconds())
		trials = append(trials, of(fmt.Sprintf("readers-%d", n), title, func(ctx context.Context, e *env, c contender) ([]figure, error) {
			return measureReaders(ctx, e, c, n)
		}))
	}
	return append(trials, of("writer", fmt.Sprintf("a writer among %s without a pause, each of whom holds the name for %d ms: from its call of Lock", counted(16, "reader"), readSection.Milliseconds()), measureWriter))
}

// kind is a way to take something that is free.
type kind struct {
	name string
	take func(ctx context.Context, c *redlock.Client, names []string) (hold, error)
}

// severalNames is how many names LockAll takes.
const severalNames = 4

var kinds = []kind{
	{"Lock", func(ctx context.Context, c *redlock.Client, names []string) (hold, error) {
		return c.Lock(ctx, names[0])
	}},
	{"RLock", func(ctx context.Context, c *redlock.Client, names []string) (hold, error) {
		return c.RLock(ctx, names[0])
	}},
	{"Acquire", func(ctx context.Context, c *redlock.Client, names []string) (hold, error) {
		return c.Semaphore(names[0], 4).Acquire(ctx)
	}},
	{fmt.Sprintf("LockAll of %d", severalNames), func(ctx context.Context, c *redlock.Client, names []string) (hold, error) {
		return c.LockAll(ctx, names...)
	}},
}

func measureKinds(ctx context.Context, e *env, c contender) (_ []figure, err error) {
	cl, err := e.open(ctx, c, lease)
	if err != nil {
		return nil, err
	}
	defer closing(cl.Close, &err)
	client, all := cl.(ourClient).Client, slices.Collect(slices.Chunk(names(), severalNames))
	acquires, releases := make([]samples, len(kinds)), make([]samples, len(kinds))
	end := time.Now().Add(time.Duration(len(kinds)) * e.duration)
	for i := 0; time.Now().Before(end); i++ {
		for j := range kinds {
			k := (i + j) % len(kinds) // none always follows the same
			asked := time.Now()
			h, err := kinds[k].take(ctx, client, all[(i*len(kinds)+j)%len(all)])
			if err != nil {
				return nil, err
			}
			held := time.Now()
			if err := h.Unlock(ctx); err != nil {
				return nil, err
			}
			acquires[k], releases[k] = append(acquires[k], held.Sub(asked)), append(releases[k], time.Since(held))
		}
	}
	var figures []figure
	plain := micros(acquires[0].percentile(50))
	for k, one := range kinds {
		p50 := micros(acquires[k].percentile(50))
		figures = append(figures, figure{one.name + " p50", "µs", p50})
		if k > 0 {
			figures = append(figures, figure{one.name + " / Lock", "", p50 / plain})
		}
		figures = append(figures, figure{one.name + " p99", "µs", micros(acquires[k].percentile(99))})
		figures = append(figures, figure{one.name + " release p50", "µs", micros(releases[k].percentile(50))})
	}
	return figures, nil
}

// readSection is how long readers and writers hold the name.
const readSection = time.Millisecond

// reading is readers of one name, each with a client of its own, who read without a pause.
type reading struct {
	inside, most atomic.Int32
	reads        atomic.Int64
	longest      atomic.Int64 // section
	released     atomic.Int64 // when the last Unlock was called, in nanoseconds since begin
	writing      atomic.Bool
}

// read has one reader read until ctx ends.
func (r *reading) read(ctx, whole context.Context, c *redlock.Client) error {
	for {
		h, err := c.RLock(ctx, "read")
		if ctx.Err() != nil {
			if err == nil {
				return h.Unlock(whole)
			}
			return nil
		}
		if err != nil {
			return err
		}
		raise(&r.most, r.inside.Add(1))
		if r.writing.Load() {
			return errors.New("a reader is in beside a writer")
		}
		start := time.Now()
		time.Sleep(readSection)
		raise(&r.longest, int64(time.Since(start)))
		if r.writing.Load() {
			return errors.New("a writer is in beside a reader")
		}
		r.inside.Add(-1)
		r.released.Store(int64(time.Since(begin)))
		if err := h.Unlock(whole); err != nil {
			return err
		}
		r.reads.Add(1)
	}
}

// raise makes v at least n.
func raise[T int32 | int64, A interface {
	Load() T
	CompareAndSwap(old, next T) bool
}](v A, n T,
) {
	for old := v.Load(); old < n && !v.CompareAndSwap(old, n); old = v.Load() {
	}
}

// run has n readers read while f runs.
func (r *reading) run(ctx context.Context, clients []client, f func() error) error {
	short, cancel := context.WithCancel(ctx)
	defer cancel()
	// Goroutines: one per reader. Each ends when short does; Wait waits for them.
	var readers errgroup.Group
	for _, cl := range clients {
		readers.Go(func() error {
			defer cancel() // an error ends it for all
			return r.read(short, ctx, cl.(ourClient).Client)
		})
	}
	err := f()
	cancel()
	return errors.Join(err, readers.Wait())
}

func measureReaders(ctx context.Context, e *env, c contender, n int) (_ []figure, err error) {
	clients, closeAll, err := e.openMany(ctx, c, n)
	if err != nil {
		return nil, err
	}
	defer closing(closeAll, &err)
	before, err := e.fleet.meters()
	if err != nil {
		return nil, err
	}
	var r reading
	if err := r.run(ctx, clients, func() error { time.Sleep(2 * e.duration); return nil }); err != nil {
		return nil, err
	}
	used, err := e.fleet.used(before)
	if err != nil {
		return nil, err
	}
	reads := float64(r.reads.Load())
	return []figure{
		{"reads", "/s", reads / used.wall.Seconds()},
		{"most readers at the same time", "", float64(r.most.Load())},
		{"masters' CPU per read", "µs", micros(used.masters.cpu) / reads},
		{"script calls per read", "", float64(used.masters.scripts()) / reads},
	}, nil
}

func measureWriter(ctx context.Context, e *env, c contender) (_ []figure, err error) {
	clients, closeAll, err := e.openMany(ctx, c, 17)
	if err != nil {
		return nil, err
	}
	defer closing(closeAll, &err)
	var r reading
	var waits, handOffs samples
	writer := clients[16].(ourClient)
	begun := time.Now()
	err = r.run(ctx, clients[:16], func() error {
		for time.Since(begun) < 4*e.duration {
			time.Sleep(5 * time.Millisecond)
			asked := time.Now()
			h, err := writer.Client.Lock(ctx, "read")
			if err != nil {
				return err
			}
			got := time.Now()
			waits, handOffs = append(waits, got.Sub(asked)), append(handOffs, got.Sub(begin)-time.Duration(r.released.Load()))
			r.writing.Store(true)
			if r.inside.Load() > 0 {
				return errors.New("a writer is in beside a reader")
			}
			time.Sleep(readSection)
			r.writing.Store(false)
			if err := h.Unlock(ctx); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	longest, handOff := millis(time.Duration(r.longest.Load())), millis(handOffs.percentile(50))
	return []figure{
		{"wait p50", "ms", millis(waits.percentile(50))},
		{"wait p99", "ms", millis(waits.percentile(99))},
		{"wait max", "ms", millis(waits.percentile(100))},
		{"longest section of a reader", "ms", longest},
		{"hand-off after the last reader, p50", "ms", handOff},
		{"wait p99 / (longest section + hand-off)", "", millis(waits.percentile(99)) / (longest + handOff)},
		{"writes", "", float64(len(waits))},
		{"reads", "/s", float64(r.reads.Load()) / time.Since(begun).Seconds()},
	}, nil
}
