package multilock

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// A client that meets an owner of its own that has gone releases it: a command that was given
// up was carried out after all, and its release was lost.
func TestMeetingADeadOwner(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		dead := b.m.NewOwner("k").ID
		b.seat(dead, time.Hour, 0, 1, 2)
		if _, err := b.try(t); !errors.Is(err, ErrTaken) {
			t.Errorf("Acquire = %v, want ErrTaken", err)
		}
		b.wantHolders(t, "k", "- - -")

		b.seat(dead, time.Hour, 0, 1, 2)
		w := wait(t, askedBid(b.m))
		time.Sleep(10 * time.Millisecond)
		if got := w.now(); !got.won {
			t.Errorf("not won behind a dead owner")
		}
	})
}

// Owners that live are left alone, whatever they have come by their locks.
func TestMeetingALiveOwner(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		tried, err := b.try(t)
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if _, err := b.try(t); !errors.Is(err, ErrTaken) {
				t.Errorf("Acquire = %v, want ErrTaken", err)
			}
			b.wantHolders(t, "k", tried.ID+" "+tried.ID+" "+tried.ID)
		}
		if err := b.m.Release(tried.Claim, 0).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		won := wantWon(t, "a bid", askedBid(b.m))
		synctest.Wait()
		_, _ = b.try(t)
		b.wantHolders(t, "k", won.ID+" "+won.ID+" "+won.ID)
		b.m.Release(won.Claim, 0)
		synctest.Wait()
		if n := len(b.m.owners); n > 0 {
			t.Errorf("%d owners are remembered, want none", n)
		}
	})
}
