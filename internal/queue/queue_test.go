package queue

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
)

// TestAnIdleQueueHasNoGoroutine: its bubble would wait for one for ever. What is added later is called all the same.
func TestAnIdleQueueHasNoGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q, called := New(time.Second, nil), 0
		for range 3 {
			q.Add(func() { called++ }, 1)
			synctest.Wait()
		}
		check.Equal(t, called, 3, "calls")
	})
}
