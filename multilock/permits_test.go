package multilock

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/multilock/poll"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// Where callers stand that want a permit, and what they are told.

// A caller begins at the slot that the client gave back last, if it is one of those that it may have.
func TestWhereACallerBegins(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		for _, tt := range []struct {
			given         []int
			permits, want int
		}{
			{nil, 3, -1},
			{nil, 1, 0},
			{[]int{0, 2}, 3, 2},
			{[]int{0, 2}, 2, 0},
			{[]int{2}, 2, -1},
		} {
			s := &semaphore{m: fx.m, given: tt.given}
			if got := s.beginLocked(tt.permits); got != tt.want {
				t.Errorf("of %d, when %v were given back: slot %d, want %d", tt.permits, tt.given, got, tt.want)
			}
		}
	})
}

// A look is over with its answers: the next one asks again.
func TestEachLookAsks(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		s := &semaphore{m: fx.m, key: script.Slots("k"), slots: &slots{masters: 3}}
		for _, want := range []int{0, -1} {
			<-s.ask(1)
			s.sawLocked()
			if got := s.slots.freeOne(1, 0, nil); got != want {
				t.Errorf("free is slot %d, want %d", got, want)
			}
			fx.each(func(m *redlocktest.Master) { m.HSet(script.SlotKey("k", 0), id("x"), "1") })
			time.Sleep(time.Second)
		}
	})
}

// A hint goes from a caller that leaves to one that stands.
func TestAHintOutlivesItsCaller(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		var all []*stander
		for range 2 {
			p := &stander{s: fx.m.semaphoreOf(script.Slots("k")), req: &Request{Permits: 2}, woken: make(chan struct{}, 1), hint: -1}
			p.join()
			all = append(all, p)
		}
		all[0].s.hintLocked(1)
		all[0].leave()
		if all[1].hint != 1 || len(all[1].woken) != 1 {
			t.Errorf("the hint of the other is %d, and it is woken %d times; want 1 and once", all[1].hint, len(all[1].woken))
		}
		all[1].leave()
	})
}

// Who has one slot does not have the semaphore: nobody is named.
func TestNobodyHasTheSemaphore(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.each(func(m *redlocktest.Master) { m.HSet(script.SlotKey("k", 0), id("x"), "1") })
		req := patient("k")
		req.Permits = 1
		c := begin(t, fx.m, req)
		synctest.Wait()
		c.cancel()
		c.wantError(t, "when it leaves", poll.ErrTaken)
		if why, ok := errors.AsType[*poll.MajorityError](c.err); !ok || why.Holder != "" {
			t.Errorf("Lock = %v, with holder %q, want none", c.err, why.Holder)
		}
	})
}
