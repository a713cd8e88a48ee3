package clock

import (
	"testing"
	"time"
)

// BenchmarkUntil: the cost of checking whether a hold is still valid.
// BenchmarkNow is in clock_test.go. To compare two versions:
//
//	go test ./clock -run '^$' -bench . -benchmem -count 10 >old.txt
//	benchstat old.txt new.txt
func BenchmarkUntil(b *testing.B) {
	deadline := Now().Add(time.Hour)
	b.ReportAllocs()
	for b.Loop() {
		if Until(deadline) <= 0 {
			b.Fatal("an hour has passed")
		}
	}
}
