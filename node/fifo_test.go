package node

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// TestFifo compares it with a slice.
func TestFifo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var f fifo
		var dumb []*call
		for _, steps := range rapid.SliceOf(rapid.IntRange(-80, 80)).Draw(t, "pushes and pops") {
			for range max(steps, 0) {
				c := new(call)
				f.push(c)
				dumb = append(dumb, c)
			}
			for range min(-steps, len(dumb)) {
				if got := f.pop(); got != dumb[0] {
					t.Fatalf("pop: got %p, want %p", got, dumb[0])
				}
				dumb = dumb[1:]
			}
			if f.len() != len(dumb) || !slices.Equal(f.all(), dumb) {
				t.Fatalf("all: got %d calls, want %d", f.len(), len(dumb))
			}
			if used := cap(f.calls); used > 1000+8*len(dumb) && len(f.calls) > 100+3*len(dumb) {
				t.Fatalf("memory: %d places for %d calls", used, len(dumb))
			}
		}
		if got := f.drain(); !slices.Equal(got, dumb) || f.len() != 0 {
			t.Fatalf("drain: got %d calls and left %d, want %d and 0", len(got), f.len(), len(dumb))
		}
	})
}
