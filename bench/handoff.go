package main

import (
	"context"
	"errors"
	"time"
)

// Two clients pass a lock back and forth: one waits for it while the other holds it.

func handoffTrials() []trial {
	return []trial{{
		scenario: "handoff",
		setting:  "2",
		title:    "two clients take turns on one name: from the call of Unlock until the other's Lock returns",
		among:    []string{"redlock", "redsync-ff", "redsync", "redsync-ff/go", "rueidislock/1"},
		measure:  measureHandoff,
	}}
}

func measureHandoff(ctx context.Context, e *env, c contender) (_ []figure, err error) {
	clients, closeAll, err := e.openMany(ctx, c, 2)
	if err != nil {
		return nil, err
	}
	defer closing(closeAll, &err)
	between := pause{least: 5 * time.Millisecond, spread: 10 * time.Millisecond}
	// Twice the time of other trials: contenders that poll hand over only a few times a second.
	end := time.Now().Add(2 * e.duration)
	handed, err := takeTurns(ctx, clients, "handoff", between, func(int) bool { return time.Now().Before(end) })
	if err := errors.Join(err, errors.Join(handed.lost...)); err != nil {
		return nil, err
	}
	end = time.Now().Add(e.duration)
	acquires, err := rested(ctx, clients[0], between, func(int) bool { return time.Now().Before(end) })
	return []figure{
		{"hand-off p50", "µs", micros(handed.waits.percentile(50))},
		{"hand-off p99", "µs", micros(handed.waits.percentile(99))},
		{"hand-offs", "", float64(len(handed.waits))},
		{"acquire p50 after the same pause", "µs", micros(acquires.percentile(50))},
	}, err
}

// handOffs are the results of passing a name on again and again.
type handOffs struct {
	waits samples // from the call of Unlock until the other's Lock returns
	lost  []error // for each hold that ended before its Unlock, why
}

// takeTurns has two clients pass name back and forth while more returns true for the number of
// hand-offs so far. Each keeps the lock for a pause of length stay.
func takeTurns(ctx context.Context, clients []client, name string, stay pause, more func(n int) bool) (handOffs, error) {
	var h handOffs
	held, err := clients[0].Lock(ctx, name)
	if err != nil {
		return h, err
	}
	release := func() {
		if err := unlock(ctx, held); err != nil {
			h.lost = append(h.lost, err)
		}
	}
	for more(len(h.waits)) {
		next := waitFor(ctx, clients[(len(h.waits)+1)%2], name)
		stay.sleep(ctx)
		released := time.Now()
		release()
		got := <-next
		if got.err != nil {
			return h, got.err
		}
		h.waits = append(h.waits, got.at.Sub(released))
		held = got.hold
	}
	release()
	return h, nil
}

// outcome is how a wait for a lock ended.
type outcome struct {
	hold hold
	at   time.Time
	err  error
}

// waitFor starts a goroutine that waits for name and sends the outcome. The caller must receive it:
// it may have a hold to unlock.
func waitFor(ctx context.Context, cl client, name string) <-chan outcome {
	result := make(chan outcome, 1)
	go func() {
		h, err := cl.Lock(ctx, name)
		result <- outcome{h, time.Now(), err}
	}()
	return result
}
