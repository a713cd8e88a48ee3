package script

import (
	"fmt"
	"testing"
)

// What it costs to make a command and to read its reply. To compare two versions:
//
//	go test ./node/script -run '^$' -bench . -count 10 >old.txt
//	benchstat old.txt new.txt

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
	renewed, holds := make([]any, 500), make([]Renewal, 500)
	for i := range renewed {
		renewed[i], holds[i].Owner = int64(1), me
	}
	for _, bb := range []struct {
		name  string
		cmd   *Command
		reply any
		want  Outcome
	}{
		{"granted", acquire, int64(1795222713542292), Done},
		{"taken", acquire, []any{int64(29_000), []byte(benchOwner)}, Refused},
		{"released", release, int64(1), Done},
		{"renewed 500", Renew(lease, holds), renewed, Done},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if a := bb.cmd.Decode(bb.reply); a.Outcome != bb.want {
					b.Fatalf("decode %v: %v (%v), want %v", bb.reply, a.Outcome, a.Err, bb.want)
				}
			}
		})
	}
}
