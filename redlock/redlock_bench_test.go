package redlock_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/answered"
	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
	"example.com/redlock/redlocktrace"
)

// What each call costs the client. To compare two versions:
//
//	go test ./redlock -run '^$' -bench . -count 10 >old.txt
//	benchstat old.txt new.txt
//
// The masters answer without running a script, so only the client is measured. For real masters see the module in bench.

const taken = "*4\r\n:0\r\n:0\r\n:29000\r\n$39\r\n6ba7b810-9dad-11d1-80b4-00c04fd430c8:r1\r\n"

// answering makes a client of five masters that say reply.
func answering(b *testing.B, reply string) *redlock.Client {
	c := benchClient(b, answered.Pools(redlocktest.Start(b, 5), reply), nil)
	b.ReportAllocs()
	return c
}

// benchClient makes a client, in real time.
func benchClient(b *testing.B, pools []*redis.Pool, trace *redlocktrace.Trace) *redlock.Client {
	c, err := redlock.New(redlock.Config{Pools: pools, RestartGuard: redlock.GuardOff, Trace: trace})
	check.OK(b, err)
	b.Cleanup(func() { c.Close() })
	for range 10 { // connections and scripts
		if hold, err := c.TryLock(b.Context(), "warm"); err == nil {
			benchUnlock(b, hold)
		}
	}
	return c
}

func benchLock(b *testing.B, ctx context.Context, c *redlock.Client, name string) *redlock.Hold {
	hold, err := c.Lock(ctx, name)
	check.OK(b, err, "Lock(%q)", name)
	return hold
}

func benchUnlock(b *testing.B, hold *redlock.Hold) {
	err := hold.Unlock(b.Context())
	check.That(b, err == nil, "Unlock: %v", err)
}

func BenchmarkLockUnlock(b *testing.B) {
	c := answering(b, answered.Yes)
	for b.Loop() {
		benchUnlock(b, benchLock(b, b.Context(), c, "a"))
	}
}

// BenchmarkReenter: one level more, and back.
func BenchmarkReenter(b *testing.B) {
	c := answering(b, answered.Yes)
	hold := benchLock(b, b.Context(), c, "a")
	for b.Loop() {
		again, err := hold.Enter(b.Context())
		check.OK(b, err)
		benchUnlock(b, again)
	}
	benchUnlock(b, hold)
}

// BenchmarkTryLockTaken: another client has the lock.
func BenchmarkTryLockTaken(b *testing.B) {
	c := answering(b, taken)
	for b.Loop() {
		if _, err := c.TryLock(b.Context(), "a"); !errors.Is(err, redlock.ErrTaken) {
			b.Fatalf("TryLock = %v, want %v", err, redlock.ErrTaken)
		}
	}
}

// BenchmarkLockUnlockParallel: as many callers as processors, or as -cpu says, each with its own name.
func BenchmarkLockUnlockParallel(b *testing.B) {
	c := answering(b, answered.Yes)
	var callers atomic.Int64
	b.RunParallel(func(pb *testing.PB) {
		name := strconv.FormatInt(callers.Add(1), 10)
		for pb.Next() {
			hold, err := c.Lock(b.Context(), name)
			if err != nil {
				b.Errorf("Lock(%q): %v", name, err)
				return
			}
			benchUnlock(b, hold)
		}
	})
}

// BenchmarkTrace: what a trace costs, and that none costs nothing.
func BenchmarkTrace(b *testing.B) {
	counted := 0
	for _, bb := range []struct {
		name  string
		trace *redlocktrace.Trace
	}{
		{"nil", nil},
		{"no function", new(redlocktrace.Trace)},
		{"all functions", countAll(&counted)},
	} {
		b.Run(bb.name, func(b *testing.B) {
			c := benchClient(b, answered.Pools(redlocktest.Start(b, 5), answered.Yes), bb.trace)
			b.ReportAllocs()
			for b.Loop() {
				benchUnlock(b, benchLock(b, b.Context(), c, "a"))
			}
		})
	}
}

// countAll returns a Trace whose functions count their calls.
func countAll(n *int) *redlocktrace.Trace {
	return &redlocktrace.Trace{
		ClientChanged: func(redlocktrace.ClientChanged) { *n++ },
		CallStarted:   func(redlocktrace.CallStarted) { *n++ },
		Waiting:       func(redlocktrace.Waiting) { *n++ },
		Asked:         func(redlocktrace.Asked) { *n++ },
		Voted:         func(redlocktrace.Voted) { *n++ },
		Decided:       func(redlocktrace.Decided) { *n++ },
		CallDone:      func(redlocktrace.CallDone) { *n++ },
		Renewed:       func(redlocktrace.Renewed) { *n++ },
		HoldEnded:     func(redlocktrace.HoldEnded) { *n++ },
		Released:      func(redlocktrace.Released) { *n++ },
		MasterChanged: func(redlocktrace.MasterChanged) { *n++ },
		Answered:      func(redlocktrace.Answered) { *n++ },
		SetsOverlap:   func(redlocktrace.SetsOverlap) { *n++ },
	}
}
