package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Two clients pass a lock back and forth: one waits for it while the other holds it.

func handoffTrials() []trial {
	// A waiter that overtakes the acquire on some masters is still finding its place in the queue after
	// 10 to 22 ms.
	return []trial{
		handoffTrial("2", pause{5 * time.Millisecond, 10 * time.Millisecond}),
		handoffTrial("2x22ms", pause{10 * time.Millisecond, 12 * time.Millisecond}),
	}
}

func handoffTrial(setting string, stay pause) trial {
	return trial{
		scenario: "handoff",
		setting:  setting,
		title: fmt.Sprintf("two clients take turns on one name, held for %d to %d ms, and the next asks as soon as it is taken: from the call of Unlock until the other's Lock returns",
			stay.least.Milliseconds(), (stay.least + stay.spread).Milliseconds()),
		among: []string{"redlock", "redsync-ff", "redsync", "redsync-ff/go", "rueidislock/1"},
		measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
			return measureHandoff(ctx, e, c, stay)
		},
	}
}

// handOffsEnough is how many hand-offs a 99th percentile needs, as far as there is time for them: of 400,
// four lie above it.
const handOffsEnough = 400

// slowFactor is how many medians a slow hand-off takes.
const slowFactor = 3

func measureHandoff(ctx context.Context, e *env, c contender, stay pause) (_ []figure, err error) {
	clients, closeAll, err := e.openMany(ctx, c, 2)
	if err != nil {
		return nil, err
	}
	defer closing(closeAll, &err)
	trace, err := e.trace()
	if err != nil {
		return nil, err
	}
	defer trace.close()
	// Contenders that poll hand over only a few times a second.
	least, most := time.Now().Add(2*e.duration), time.Now().Add(16*e.duration)
	handed, err := takeTurns(ctx, clients, "handoff", stay, func(n int) bool {
		now := time.Now()
		return now.Before(least) || n < handOffsEnough && now.Before(most)
	})
	if err := errors.Join(err, errors.Join(handed.lost...)); err != nil {
		return nil, err
	}
	waits := handed.waits()
	p50 := waits.percentile(50)
	slow := handed.slower(slowFactor * p50)
	for _, t := range slow {
		trace.tell(e.details, c.name+": "+t.String(), t.taken, t.got)
	}
	end := time.Now().Add(e.duration)
	acquires, err := rested(ctx, clients[0], stay, func(int) bool { return time.Now().Before(end) })
	return []figure{
		{"hand-off p50", "µs", micros(p50)},
		{"hand-off p99", "µs", micros(waits.percentile(99))},
		{"hand-off max", "µs", micros(waits.percentile(100))},
		{fmt.Sprintf("slower than %d times p50", slowFactor), "%", 100 * float64(len(slow)) / float64(len(waits))},
		{"hand-offs", "", float64(len(waits))},
		{"acquire p50 after the same pause", "µs", micros(acquires.percentile(50))},
	}, err
}

// handOffs are the results of passing a name on again and again.
type handOffs struct {
	turns []turn
	lost  []error // for each hold that ended before its Unlock, why
}

// turn is one hand-off.
type turn struct {
	taken    time.Time // when the one before had the lock
	asked    time.Time // when the next one called Lock
	released time.Time // when Unlock was called
	freed    time.Time // when Unlock returned
	got      time.Time // when the next one had the lock
}

// wait is from the call of Unlock until the other's Lock returns.
func (t turn) wait() time.Duration { return t.got.Sub(t.released) }

func (t turn) String() string {
	return fmt.Sprintf("a hand-off took %v: the lock was held for %v, the next asked %v after it was taken, Unlock took %v",
		t.wait(), t.released.Sub(t.taken), t.asked.Sub(t.taken), t.freed.Sub(t.released))
}

func (h handOffs) waits() samples {
	var waits samples
	for _, t := range h.turns {
		waits = append(waits, t.wait())
	}
	return waits
}

// slower returns the turns that took longer than d.
func (h handOffs) slower(d time.Duration) []turn {
	return slices.DeleteFunc(slices.Clone(h.turns), func(t turn) bool { return t.wait() <= d })
}

// takeTurns has two clients pass name back and forth while more returns true for the number of
// hand-offs so far. Each keeps the lock for a pause of length stay.
func takeTurns(ctx context.Context, clients []client, name string, stay pause, more func(n int) bool) (handOffs, error) {
	var h handOffs
	held, err := clients[0].Lock(ctx, name)
	if err != nil {
		return h, err
	}
	taken := time.Now()
	release := func() {
		if err := unlock(ctx, held); err != nil {
			h.lost = append(h.lost, err)
		}
	}
	for more(len(h.turns)) {
		next := waitFor(ctx, clients[(len(h.turns)+1)%2], name)
		stay.sleep(ctx)
		t := turn{taken: taken, released: time.Now()}
		release()
		t.freed = time.Now()
		got := <-next
		if got.err != nil {
			return h, got.err
		}
		t.asked, t.got = got.asked, got.at
		h.turns = append(h.turns, t)
		held, taken = got.hold, got.at
	}
	release()
	return h, nil
}

// outcome is how a wait for a lock ended.
type outcome struct {
	hold  hold
	asked time.Time
	at    time.Time
	err   error
}

// waitFor starts a goroutine that waits for name and sends the outcome. The caller must receive it:
// it may have a hold to unlock.
func waitFor(ctx context.Context, cl client, name string) <-chan outcome {
	result := make(chan outcome, 1)
	go func() {
		asked := time.Now()
		h, err := cl.Lock(ctx, name)
		result <- outcome{h, asked, time.Now(), err}
	}()
	return result
}
