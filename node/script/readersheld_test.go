package script

import (
	"testing"
	"time"
)

// TestGuardedMasterAndReaders: it grants them nothing, heals nothing and hands nothing off, also where
// others read.
func TestGuardedMasterAndReaders(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		h.subscribeClient("a")
		for _, cmd := range []*Command{reader("a:r1").Acquire(lease, 5), reader("a:r1").AcquireOrRegister(lease, QueueEntry{Round: 1, Lease: short})} {
			if !cmd.Grants() {
				t.Errorf("%v grants nothing, so a guarded master would get it", cmd.args)
			}
		}
		if reader("a:r1").Register(QueueEntry{Round: 1}).Grants() {
			t.Error("a register grants")
		}
		renewal := func(owner string) Renewed {
			return h.run(guarded(Renew(lease, []Renewal{{Owner: reader(owner), Token: 5}}))).Renewed[0]
		}
		if got := renewal("a:r1"); got != Absent {
			t.Errorf("renewal where nobody has it: %v, want Absent", got)
		}
		h.read("x:r0", lease)
		h.read("y:r0", lease)
		if got := renewal("a:r1"); got != Absent {
			t.Errorf("renewal beside readers: %v, want Absent", got)
		}
		if got := renewal("x:r0"); got != Extended {
			t.Errorf("renewal of one that reads: %v, want Extended", got)
		}
		h.writes("w:r1", 10)
		h.waits("a:r2", 20)
		h.run(guarded(NewOwner("k", id("w:r1")).Release(5, 10)))
		h.wantReaders("after a writer gave up", "x:r0 30s", "y:r0 30s")
		h.run(guarded(reader("x:r0").Release(5, 0)))
		h.run(guarded(reader("y:r0").Release(5, 0)))
		h.wantReaders("after all")
		h.wantQueue("after all", id("a:r2 1"))

		h.heldByX()
		h.waits("a:r3", 30)
		if got := h.run(guarded(Renew(lease, []Renewal{{Owner: reader("x:r0"), Token: 5}}))).Renewed[0]; got != Extended {
			t.Errorf("downgrade: %v, want Extended", got)
		}
		h.wantReaders("after a downgrade", "x:r0 30s")
	})
}

// TestDowngrade: a lock that one has alone becomes a shared one without a gap, for the longer of both
// leases, and the readers who wait are let in, up to the first writer.
func TestDowngrade(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		h.waits("a:r1", 10)
		h.writes("a:r2", 20)
		h.waits("a:r3", 30)
		if got := h.renews(reader("x:r0"), time.Second); got != Extended {
			t.Errorf("downgrade: %v, want Extended", got)
		}
		h.wantReaders("then", "a:r1 400ms", "x:r0 30s")
		post.want(t, "to the reader behind", id("a:r1 1 5:shared k"))
		h.wantQueue("then", id("a:r2 1"), id("a:r3 1"))
		if got := h.renews(NewOwner("k", id("x:r0")), lease); got != Foreign {
			t.Errorf("a late renewal as a writer: %v, want Foreign", got)
		}
		h.wantReaders("after that", "a:r1 400ms", "x:r0 30s")
	})
	withScripts(t, func(h *scriptFixture) {
		post := h.subscribeClient("a")
		h.heldByX()
		h.writes("a:r2", 20)
		h.waits("a:r3", 30)
		h.renews(reader("x:r0"), lease)
		h.wantReaders("a writer is first", "x:r0 30s")
		post.want(t, "a writer is first")
	})
}

// TestForceOfReaders: all of them are out, none heals, and whoever waits is next.
func TestForceOfReaders(t *testing.T) {
	withScripts(t, func(h *scriptFixture) {
		freed := h.subscribe(freedChannel)
		h.read("a:r1", lease)
		h.read("b:r1", time.Minute)
		h.wantAnswer("force", h.run(Force("k", 8)), Done, "")
		freed.want(t, "to Redisson", "0")
		h.wantReaders("then")
		for owner, left := range map[string]time.Duration{"a:r1": lease, "b:r1": time.Minute} {
			if got := h.m.TTL("redlock_forced:{k}" + id(owner)); got != left {
				t.Errorf("mark of %s: for %v, want %v", owner, got, left)
			}
			if got := h.renews(reader(owner), lease); got != Absent {
				t.Errorf("renewal of %s: %v, want Absent", owner, got)
			}
		}
		h.wantAnswer("force of nobody", h.run(Force("k", 8)), Refused, "")
		h.read("c:r1", lease)
		if got := h.renews(reader("a:r1"), lease); got != Absent {
			t.Errorf("renewal beside a reader who came later: %v, want Absent", got)
		}
	})
}
