package node

import (
	"testing"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// What a command costs on its way to one master and back. To compare two versions:
//
//	go test ./node -run '^$' -bench . -count 10 >old.txt
//	benchstat old.txt new.txt
//
// The master of BenchmarkSend is in the process and interprets scripts, which is most of the
// time and of the allocations.

const (
	benchKey = "orders:42"
)

// bell rings with each answer. It implements Receiver.
type bell chan script.Answer

func (r bell) Answer(_ int, a script.Answer) { r <- a }

// benchNode makes a node that is up, with a master that has no other client.
func benchNode(b *testing.B) *Node {
	fleet := redlocktest.Start(b, 1)
	n := New(Config{Name: "m1", Pool: fleet.Pools()[0], Timeout: timeout, Registry: new(Registry), Logger: quiet})
	b.Cleanup(n.Close)
	roundTrip(b, n, script.Inspect(benchKey), make(bell, 1)) // the script is there
	return n
}

// roundTrip sends cmd and waits for the answer.
func roundTrip(b *testing.B, n *Node, cmd *script.Command, r bell) {
	n.Send(cmd, r, 0)
	if a := <-r; a.Outcome != script.Done {
		b.Errorf("Send = %v (%v), want %v", a.Outcome, a.Err, script.Done)
	}
}

// BenchmarkSend: one round trip after another, and as many at a time as there are
// processors, on one connection.
func BenchmarkSend(b *testing.B) {
	b.Run("alone", func(b *testing.B) {
		n, cmd, r := benchNode(b), script.Inspect(benchKey), make(bell, 1)
		b.ReportAllocs()
		for b.Loop() {
			roundTrip(b, n, cmd, r)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		n, cmd := benchNode(b), script.Inspect(benchKey)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			r := make(bell, 1)
			for pb.Next() {
				roundTrip(b, n, cmd, r)
			}
		})
	})
}
