package queue

import (
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
)

// TestAnIdleQueueHasNoGoroutine: its bubble would wait for one for ever. What is added later is called even so.
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

// TestAFunctionThatEndsItsGoroutine: those behind it are called nevertheless, and Close waits for them.
func TestAFunctionThatEndsItsGoroutine(t *testing.T) {
	q, called := New(time.Minute, nil), false
	q.Add(runtime.Goexit, 2)
	q.Add(func() { called = true }, 2)
	q.Close()
	check.Equal(t, called, true, "called")
}
