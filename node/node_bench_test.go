package node

import (
	"fmt"
	"testing"

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
	benchKey   = "orders:42"
	benchOwner = "6ba7b810-9dad-11d1-80b4-00c04fd430c8:r1"
)

// made is where a command goes, so that the compiler does not leave out making it.
var made *Command

func BenchmarkCommand(b *testing.B) {
	b.Run("acquire and release", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			o := NewOwner(benchKey, benchOwner)
			made = o.Acquire(lease, 1795222713542292)
			made = o.Release(1795222713542292, 0)
		}
	})
	for _, n := range []int{1, 500} {
		holds := make([]Renewal, n)
		for i := range holds {
			holds[i] = Renewal{Owner: NewOwner(benchKey, benchOwner), Count: 1, Token: 1795222713542292}
		}
		b.Run(fmt.Sprintf("renew %d", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				made = Renew(lease, holds)
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	renewed := make([]any, 500)
	for i := range renewed {
		renewed[i] = int64(1)
	}
	for _, bb := range []struct {
		name   string
		script *script
		reply  any
		want   Outcome
	}{
		{"granted", acquireScript, int64(1795222713542292), Done},
		{"taken", acquireScript, []any{int64(29_000), []byte(benchOwner)}, Refused},
		{"released", releaseScript, int64(1), Done},
		{"renewed 500", renewScript, renewed, Done},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if a, err := bb.script.decode(bb.reply); a.Outcome != bb.want {
					b.Fatalf("decode(%v) = %v (%v), want %v", bb.reply, a.Outcome, err, bb.want)
				}
			}
		})
	}
}

// bell rings with each answer. It implements Receiver.
type bell chan Answer

func (r bell) Answer(_ int, a Answer) { r <- a }

// benchNode makes a node that is up, with a master that has no other client.
func benchNode(b *testing.B) *Node {
	fleet := redlocktest.Start(b, 1)
	n := New(Config{Name: "m1", Pool: fleet.Pools()[0], Timeout: timeout, Roll: new(Roll), Logger: quiet})
	b.Cleanup(n.Close)
	roundTrip(b, n, Inspect(benchKey), make(bell, 1)) // the script is there
	return n
}

// roundTrip sends cmd and waits for the answer.
func roundTrip(b *testing.B, n *Node, cmd *Command, r bell) {
	n.Send(cmd, r, 0)
	if a := <-r; a.Outcome != Done {
		b.Errorf("Send = %v (%v), want %v", a.Outcome, a.Err, Done)
	}
}

// BenchmarkSend: one round trip after another, and as many at a time as there are
// processors, on one connection.
func BenchmarkSend(b *testing.B) {
	b.Run("alone", func(b *testing.B) {
		n, cmd, r := benchNode(b), Inspect(benchKey), make(bell, 1)
		b.ReportAllocs()
		for b.Loop() {
			roundTrip(b, n, cmd, r)
		}
	})
	b.Run("parallel", func(b *testing.B) {
		n, cmd := benchNode(b), Inspect(benchKey)
		b.ReportAllocs()
		b.RunParallel(func(pb *testing.PB) {
			r := make(bell, 1)
			for pb.Next() {
				roundTrip(b, n, cmd, r)
			}
		})
	})
}
