package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Two clients pass a lock back and forth: one waits for it while the other holds it.

func handoffTrials() []trial {
	stay := pause{5 * time.Millisecond, 10 * time.Millisecond}
	return []trial{{
		scenario: "handoff",
		setting:  "2",
		title: fmt.Sprintf("two clients take turns on one name, held for %d to %d ms, and the next asks as soon as it is taken: from the call of Unlock until the other's Lock returns",
			stay.least.Milliseconds(), (stay.least + stay.spread).Milliseconds()),
		among: []string{"redlock", "redsync-ff", "redsync", "redsync-ff/go", "rueidislock/1", "etcd/3", "postgres/1"},
		measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
			return measureHandoff(ctx, e, c, stay)
		},
	}}
}

// handOffsEnough is how many hand-offs a 99th percentile needs, as far as there is time for them: of 400,
// four lie above it.
const handOffsEnough = 400

func measureHandoff(ctx context.Context, e *env, c contender, stay pause) (_ []figure, err error) {
	clients, closeAll, err := e.openMany(ctx, c, 2)
	if err != nil {
		return nil, err
	}
	defer closing(closeAll, &err)
	// Contenders that poll hand over only a few times a second.
	least, most := time.Now().Add(2*e.duration), time.Now().Add(16*e.duration)
	handed, err := takeTurns(ctx, clients, "handoff", stay, func(n int) bool {
		now := time.Now()
		return now.Before(least) || n < handOffsEnough && now.Before(most)
	})
	if err := errors.Join(err, errors.Join(handed.lost...)); err != nil {
		return nil, err
	}
	end := time.Now().Add(e.duration)
	acquires, err := rested(ctx, clients[0], stay, func(int) bool { return time.Now().Before(end) })
	return []figure{
		{"hand-off p50", "µs", micros(handed.waits.percentile(50))},
		{"hand-off p99", "µs", micros(handed.waits.percentile(99))},
		{"hand-off max", "µs", micros(handed.waits.percentile(100))},
		{"hand-offs", "", float64(len(handed.waits))},
		{"acquire p50 after the same pause", "µs", micros(acquires.percentile(50))},
	}, err
}

// handOffs are the results of passing a name on again and again.
type handOffs struct {
	waits samples // each from the call of Unlock until the other's Lock returns
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
