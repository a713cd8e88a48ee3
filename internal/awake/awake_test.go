package awake

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
)

// A limit passes in the time in which this process runs: a step that ends late does not count, but no more
// than so many are forgiven.
func TestAwake(t *testing.T) {
	const limit = 8 * time.Second
	for _, tt := range []struct {
		late int // of the steps
		want time.Duration
	}{{0, limit}, {1, limit * 5 / 4}, {4, 2 * limit}, {100, 2 * limit}} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan time.Duration, 1)
			begin := time.Now()
			a := After(limit, func() { ended <- time.Since(begin) })
			for range tt.late {
				a.mu.Lock()
				a.due = a.due.Add(-time.Minute)
				a.mu.Unlock()
				time.Sleep(limit / steps)
				synctest.Wait()
			}
			check.Equal(t, <-ended, tt.want, "with %d late steps it ended after", tt.late)
			check.Equal(t, a.Over(), true, "it is over")
		})
	}
}
