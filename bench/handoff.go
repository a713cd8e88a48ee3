package main

import (
	"context"
	"time"
)

// Two clients pass a lock to and fro: one waits for it while the other has it.

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
	var waits samples
	has, err := clients[0].Lock(ctx, "handoff")
	if err != nil {
		return nil, err
	}
	// Twice the time of the others: those that poll hand over a few times a second.
	end := time.Now().Add(2 * e.duration)
	for turn := 1; time.Now().Before(end); turn++ {
		next := waitFor(ctx, clients[turn%2], "handoff")
		between.sleep(ctx)
		released := time.Now()
		if err := has.Unlock(ctx); err != nil {
			<-next
			return nil, err
		}
		got := <-next
		if got.err != nil {
			return nil, got.err
		}
		waits = append(waits, got.at.Sub(released))
		has = got.hold
	}
	if err := has.Unlock(ctx); err != nil {
		return nil, err
	}
	end = time.Now().Add(e.duration)
	acquires, err := rested(ctx, clients[0], between, func(int) bool { return time.Now().Before(end) })
	return []figure{
		{"hand-off p50", "µs", micros(waits.percentile(50))},
		{"hand-off p99", "µs", micros(waits.percentile(99))},
		{"hand-offs", "", float64(len(waits))},
		{"acquire p50 after the same pause", "µs", micros(acquires.percentile(50))},
	}, err
}

// turn is the end of a wait for a lock.
type turn struct {
	hold hold
	at   time.Time
	err  error
}

// waitFor starts a goroutine that waits for name and ends with that wait; its outcome must
// be received.
func waitFor(ctx context.Context, cl client, name string) <-chan turn {
	outcome := make(chan turn, 1)
	go func() {
		h, err := cl.Lock(ctx, name)
		outcome <- turn{h, time.Now(), err}
	}()
	return outcome
}
