package multilock

import (
	"context"
	"fmt"
	"testing"
	"time"
)

// What a directory keeps is bounded, however many clients it meets.
func TestTheDirectoryIsBounded(t *testing.T) {
	var d directory
	for i := range 3 * maxKnown {
		d.ask(fmt.Sprint(i))
	}
	if n := len(d.asked); n == 0 || n > maxKnown {
		t.Errorf("%d of %d are kept, want %d at most", n, 3*maxKnown, maxKnown)
	}
	if d.ask(fmt.Sprint(3*maxKnown - 1)) {
		t.Error("what was asked for last is asked for again at once")
	}
}

// The record of a client tells how many of its callers wait: who gave up waits no more.
func TestWhoGaveUpWaitsNoMore(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		c := begin(t, fx.m, patient("k"))
		_, _ = fx.m.Lock(ctx, patient("k"))
		if holds, waits := fx.m.busy(); holds != 1 || waits != 1 {
			t.Errorf("%d holds and %d callers that wait, want one of each", holds, waits)
		}
		unlock(t, hold)
		unlock(t, c.wantHold(t, "then"))
		if holds, waits := fx.m.busy(); holds != 0 || waits != 0 {
			t.Errorf("%d holds and %d callers that wait, want none", holds, waits)
		}
	})
}
