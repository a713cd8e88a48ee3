package multilock

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/protocol"
	"example.com/redlock/redlocktrace"
)

// Renewals: several holds in one script call, a vote on each, and healing.

// fate is what a renewal was told.
type fate struct {
	ev  protocol.HoldEvent
	why *poll.MajorityError
}

// keptRenewal makes a renewal of h, which must last, and keeps what it is told: the hold hears nothing of it.
func keptRenewal(t *testing.T, h *Hold) (renewal, <-chan fate) {
	t.Helper()
	told := make(chan fate, 2)
	r, why := h.renewal(protocol.HoldExtend, func(ev protocol.HoldEvent, why *poll.MajorityError) { told <- fate{ev, why} })
	if why != nil {
		t.Fatalf("no renewal is made: %v", why)
	}
	return r, told
}

// One script call renews many holds, and each of them has a vote of its own.
func TestRenewVotesOnEachHold(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		const n = 40
		var list []renewal
		var all []<-chan fate
		for i := range n {
			r, told := keptRenewal(t, fx.take(t, fx.m, fmt.Sprint("k", i)))
			list, all = append(list, r), append(all, told)
		}
		for key, masters := range map[string][]int{"k3": {0, 1}, "k4": {0}, "k5": {1, 2}} {
			for _, i := range masters {
				fx.Master(i).Del(key)
				fx.Master(i).HSet(key, id("b"), "1")
			}
		}
		before := fx.Master(0).Calls("EVALSHA")
		fx.m.extend(redlocktrace.RenewalWatchdog, lease, list)
		for i, told := range all {
			got := <-told
			if lost := got.ev.Kind == protocol.HoldLost; lost != (i == 3 || i == 5) || (got.why != nil) != lost {
				t.Errorf("k%d: told %v, %v, want k3 and k5 lost", i, got.ev.Kind, got.why)
			}
			if got.why != nil && (got.why.Name != fmt.Sprint("k", i) || len(got.why.Nodes.Errors) != 2 || !errors.Is(got.why, errForeign)) {
				t.Errorf("k%d: told %v, want that two masters have another owner of it", i, got.why)
			}
		}
		if calls := fx.Master(0).Calls("EVALSHA") - before; calls != 1 {
			t.Errorf("%d script calls for %d holds, want 1", calls, n)
		}
	})
}

// A hold lives on while all masters restart empty, one after another, a guard apart. Each gets it back with
// the first renewal after its guard, and no guarded one does.
func TestRenewHeals(t *testing.T) {
	const guard = lease
	inGuardedBubble(t, 3, guard, func(t *testing.T, fx *fixture) {
		req := watched()
		hold := fx.lock(t, req)
		for i, master := range fx.Masters() {
			master.Restart()
			time.Sleep(guard - 2*time.Second)
			if got := master.Holder("k"); got != "" {
				t.Fatalf("m%d, which is guarded, has %s, want nobody", i+1, got)
			}
			time.Sleep(2 * time.Second)
			time.Sleep(guard)
			if got := master.Holder("k"); got != hold.Owner() {
				t.Fatalf("m%d has %q, want %s again", i+1, got, hold.Owner())
			}
		}
		req.Entry.(*entry).wantAlive(t)
		unlock(t, hold)
		fx.wantNothing(t, "then", fx.m)
	})
}

// A renewal that was made before a release and sent after it sets the lock again on masters that have just
// freed it: it is released again, and nothing is left of it.
func TestRenewalThatCrossesARelease(t *testing.T) {
	for name, end := range map[string]func(*testing.T, *Hold){
		"Unlock": func(t *testing.T, hold *Hold) { unlock(t, hold) },
		"loss": func(_ *testing.T, hold *Hold) {
			hold.step(protocol.HoldEvent{Kind: protocol.HoldLost}, poll.ErrLost)
		},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				ends, stays := fx.take(t, fx.m, "k"), fx.take(t, fx.m, "stays")
				one, _ := keptRenewal(t, ends)
				two, _ := keptRenewal(t, stays)
				end(t, ends)
				fx.wantHolders(t, "k", "- - -")
				fx.m.extend(redlocktrace.RenewalWatchdog, lease, []renewal{one, two})
				fx.wantHolders(t, "k", "- - -")
				fx.wantHolders(t, "stays", stays.Owner()+" "+stays.Owner()+" "+stays.Owner())
				unlock(t, stays)
				fx.wantNothing(t, "then", fx.m)
			})
		})
	}
}
