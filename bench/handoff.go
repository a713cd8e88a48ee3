package main

import (
	"context"
	"math/rand/v2"
	"time"
)

// Two clients pass a lock back and forth: one waits for it while the other holds it.

// handOffsEnough is how many hand-offs a 99th percentile needs, as far as there is time for them: of 400,
// four lie above it.
const handOffsEnough = 400

// measureHandoff has each client hold the name for mean, half of it at least and half as long again at most.
func measureHandoff(mean time.Duration) measurement {
	return func(ctx context.Context, e *env) ([]figure, error) {
		// Contenders that poll hand over only a few times a second.
		least, most := time.Now().Add(2*duration), time.Now().Add(16*duration)
		waits, err := takeTurns(ctx, e.clients, "handoff", mean, func(n int) bool {
			now := time.Now()
			return now.Before(least) || n < handOffsEnough && now.Before(most)
		})
		if err != nil {
			return nil, err
		}
		return append(waits.figures("hand-off", time.Microsecond, 50, 99, 100), figure{"hand-offs", "", float64(len(waits))}), nil
	}
}

// takeTurns has two clients pass name back and forth while more returns true for the number of
// hand-offs so far. It returns how long each took, from the call of Unlock until the other's Lock returned.
func takeTurns(ctx context.Context, clients []client, name string, mean time.Duration, more func(n int) bool) (waits samples, err error) {
	held, err := clients[0].Lock(ctx, name)
	if err != nil {
		return nil, err
	}
	for more(len(waits)) {
		next := waitFor(ctx, clients[(len(waits)+1)%2], name)
		// A random time, so that it does not fall into step with clients that poll.
		sleep(ctx, mean/2+rand.N(mean+1))
		released := time.Now()
		lost := held.Unlock(ctx)
		got := <-next
		if got.err != nil {
			return waits, got.err
		}
		held = got.hold
		if lost != nil {
			return waits, lost
		}
		waits = append(waits, got.at.Sub(released))
	}
	return waits, held.Unlock(ctx)
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
