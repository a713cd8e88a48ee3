package beside

import (
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

func TestEach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var done []int
		var busy, most atomic.Int32
		start := time.Now()
		Each([]int{1, 2, 3, 4, 5}, 2, func(i int) {
			most.Store(max(most.Load(), busy.Add(1)))
			time.Sleep(time.Second)
			busy.Add(-1)
			mu.Lock()
			done = append(done, i)
			mu.Unlock()
		})
		slices.Sort(done)
		if want := []int{1, 2, 3, 4, 5}; !slices.Equal(done, want) {
			t.Errorf("done %v, want %v", done, want)
		}
		if took := time.Since(start); took != 3*time.Second || most.Load() != 2 {
			t.Errorf("it took %v with %d at a time, want 3 s with 2", took, most.Load())
		}
	})
}
