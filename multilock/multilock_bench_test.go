package multilock

import (
	"log/slog"
	"testing"
	"time"

	"example.com/redlock/node"
	"example.com/redlock/redlocktest"
)

// What a vote costs. To compare two versions:
//
//	go test ./multilock -run '^$' -bench . -count 10 >old.txt
//	benchstat old.txt new.txt
//
// The masters are in the process and interpret scripts, which is most of the time and of the
// allocations. For those of the client see BenchmarkLockUnlock/answered in package redlock.

// benchMasters makes a client of n masters in memory, in real time, that is warm.
func benchMasters(b *testing.B, n int) *Masters {
	fleet := redlocktest.Start(b, n)
	var nodes []*node.Node
	for i, pool := range fleet.Pools() {
		nodes = append(nodes, node.New(node.Config{
			Name:    fleet.Master(i).Name(),
			Pool:    pool,
			Timeout: time.Second,
			Logger:  slog.New(slog.DiscardHandler),
		}))
	}
	m := New(nodes)
	b.Cleanup(m.Close)
	for range 10 { // connections and scripts
		benchCycle(b, m)
	}
	return m
}

// benchCycle takes a lock and gives it back.
func benchCycle(b *testing.B, m *Masters) {
	req := Request{Owner: m.NewOwner("orders:42"), Lease: 10 * time.Second, Count: 1, Proposal: 7}
	g, err := m.Acquire(req).Wait(b.Context())
	if err == nil {
		err = m.Release(g.Claim, 0).Wait(b.Context())
	}
	if err != nil {
		b.Error(err)
	}
}

func BenchmarkAcquireRelease(b *testing.B) {
	m := benchMasters(b, 5)
	b.ReportAllocs()
	for b.Loop() {
		benchCycle(b, m)
	}
}
