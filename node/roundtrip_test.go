package node

import (
	"testing"
	"time"
)

// The bound follows what answers take: up at once, and down when they have been quick for a while.
func TestAnswerTime(t *testing.T) {
	var a answerTime
	if a.bound() != 0 {
		t.Errorf("bound = %v before any answer, want 0", a.bound())
	}
	steps := []struct {
		took        time.Duration
		times       int
		least, most time.Duration
	}{
		{10 * time.Millisecond, 1, 30 * time.Millisecond, 30 * time.Millisecond}, // nothing is known of its deviation
		{10 * time.Millisecond, 30, 10 * time.Millisecond, 11 * time.Millisecond},
		{300 * time.Millisecond, 1, 300 * time.Millisecond, 350 * time.Millisecond}, // a leap: the deviation tells of it
		{300 * time.Millisecond, 40, 295 * time.Millisecond, 310 * time.Millisecond},
		{10 * time.Millisecond, 60, 10 * time.Millisecond, 15 * time.Millisecond},
	}
	for _, s := range steps {
		for range s.times {
			a.add(s.took)
		}
		if got := a.bound(); got < s.least || got > s.most {
			t.Errorf("after %d answers in %v: bound = %v, want %v to %v", s.times, s.took, got, s.least, s.most)
		}
	}
}
