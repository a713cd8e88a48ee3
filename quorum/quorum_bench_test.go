package quorum

import (
	"testing"
	"time"
)

// The cost of counting a master's answer, besides the answer itself. To compare two versions:
//
//	go test ./quorum -run '^$' -bench . -count 10 >old.txt
//	benchstat old.txt new.txt

// Results are stored here, so that the compiler does not remove the calls.
var (
	result  Result
	contest Contest
	number  int
	wait    time.Duration
)

func BenchmarkVote(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		for yes := range 4 { // the answers that win
			result = Vote(5, yes, 0)
		}
	}
}

func BenchmarkJudge(b *testing.B) {
	const us, other = "6ba7b810-9dad-11d1-80b4-00c04fd430c8:r1", "6ba7b811-9dad-11d1-80b4-00c04fd430c8:r1"
	for _, bb := range []struct {
		name    string
		yes     int
		holders []string
	}{
		{"taken", 0, []string{other, other, other}},
		{"split", 1, []string{us, us, other, other}},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				contest = Judge(5, bb.yes, 0, bb.holders)
			}
		})
	}
}

func BenchmarkTerm(b *testing.B) {
	left := []time.Duration{4 * time.Second, 0, 5 * time.Second, 3 * time.Second, 4 * time.Second}
	b.ReportAllocs()
	for b.Loop() {
		_, number = Term(left)
	}
}

func BenchmarkFreeAfter(b *testing.B) {
	left := []time.Duration{4 * time.Second, 0, 5 * time.Second, 3 * time.Second, 4 * time.Second}
	b.ReportAllocs()
	for b.Loop() {
		wait, _ = FreeAfter(5, left)
	}
}
