package multilock

import (
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/node/script"
)

// slow takes its time with the answer of a master that is down, and notes what the others have
// been sent by then.
type slow struct {
	b     bench
	calls int64
}

func (s *slow) Answer(_ int, a script.Answer) {
	if a.Outcome == script.Unsent {
		time.Sleep(time.Second)
		s.calls = s.b.Master(0).Calls("EVALSHA")
	}
}

// What is sent to a master that is down is known not to have arrived before the others get
// anything: a vote that they decide claims nothing there.
func TestMastersThatAreDownAnswerFirst(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.Master(2).Kill()
		time.Sleep(time.Second)
		before := b.Master(0).Calls("EVALSHA")
		s := &slow{b: b}
		b.m.send(script.Inspect("k"), b.m.All(), s)
		synctest.Wait()
		if s.calls != before {
			t.Errorf("another master was sent %d calls before the one that is down had answered", s.calls-before)
		}
	})
}

// A release enters the next caller in the queue of the masters that it reaches, and only there it
// has anything to give back.
func TestSuccessorClaimsWhereTheReleaseArrived(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		c := b.held(t)
		b.Master(2).Kill()
		time.Sleep(time.Second)
		next := newBid(b.m)
		defer next.GiveUp(nil)
		b.m.ReleaseTo(c, next)
		synctest.Wait()
		next.mu.Lock()
		defer next.mu.Unlock()
		if at := next.claim().At; at != 0b011 {
			t.Errorf("the next caller claims %03b, want 011", at)
		}
	})
}

// A renewal claims the masters that it was sent to.
func TestRenewalClaimsWhereItWasSent(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		c := b.held(t)
		b.Master(1).Kill()
		time.Sleep(time.Second)
		if at := b.m.Renew(bidLease, []Renewal{newAsked("k", c.ID)}); at != 0b101 {
			t.Errorf("Renew = %03b, want 101", at)
		}
		synctest.Wait()
		b.m.Release(c, 0)
	})
}
