package multilock

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/redlocktest"
)

// Callers that share an owner enter each other's hold.

// shared wants k for owner, without waiting.
func shared(owner any) Request {
	req := request("k")
	req.Owner = owner
	return req
}

// counts returns the hold count of hold at each master, which must be the same, and in the client.
func (fx *fixture) wantCounts(t *testing.T, hold *Hold, want string, inClient int) {
	t.Helper()
	synctest.Wait()
	for i, m := range fx.Masters() {
		if got := m.HGet("k", hold.Owner()); got != want {
			t.Errorf("hold count at m%d = %q, want %q", i+1, got, want)
		}
	}
	if got := hold.Count(); got != inClient {
		t.Errorf("Count = %d, want %d", got, inClient)
	}
}

// Callers with one owner share one hold, which is freed with the last entry.
func TestEnterAgain(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		var entries []*entry
		var hold *Hold
		for i := range 3 {
			req := shared(owner)
			req.Wait = i == 1 // waiting or not is all the same
			h, err := fx.m.Lock(t.Context(), req)
			if err != nil || hold != nil && h != hold {
				t.Fatalf("Lock %d = %v, %v, want the hold that is there", i, h, err)
			}
			hold = h
			entries = append(entries, req.Entry.(*entry))
		}
		fx.wantCounts(t, hold, "3", 3)
		for i, e := range entries[:2] {
			if err := hold.Unlock(t.Context(), e); err != nil {
				t.Errorf("Unlock = %v", err)
			}
			e.wantEnded(t, ErrNotHeld)
			fx.wantCounts(t, hold, string(rune('2'-i)), 2-i)
			if err := hold.Unlock(t.Context(), e); !errors.Is(err, ErrNotHeld) {
				t.Errorf("Unlock twice = %v, want ErrNotHeld", err)
			}
		}
		entries[2].wantAlive(t)
		if err := hold.Unlock(t.Context(), entries[2]); err != nil {
			t.Errorf("Unlock = %v", err)
		}
		entries[2].wantEnded(t, ErrNotHeld)
		fx.wantNothing(t, "after all", fx.m)
	})
}

// Other callers of the client do not enter it.
func TestOthersDoNotEnter(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k") // of no owner but its first entry
		for _, owner := range []any{nil, new(int)} {
			if _, err := fx.m.Lock(t.Context(), shared(owner)); !errors.Is(err, ErrTaken) {
				t.Errorf("Lock of another owner = %v, want ErrTaken", err)
			}
		}
		again := request("k")
		again.Owner = entryOf(hold) // a call tree that begins with a hold has its entry for an owner
		if h, err := fx.m.Lock(t.Context(), again); err != nil || h != hold {
			t.Errorf("Lock of its first entry = %v, %v, want the same hold", h, err)
		}
		fx.wantCounts(t, hold, "2", 2)
		hold.end(ErrNotHeld)
		again.Entry.(*entry).wantEnded(t, ErrNotHeld)
		fx.wantNothing(t, "after all", fx.m)
	})
}

// Re-entry touches only what is held, and needs a majority that has the hold.
func TestEnterNeedsAMajority(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		req := shared(owner)
		hold := fx.lock(t, req)
		synctest.Wait()
		fx.Master(0).FlushAll()
		if _, err := fx.m.Lock(t.Context(), shared(owner)); err != nil {
			t.Errorf("Lock with the hold at two masters of three = %v", err)
		}
		fx.wantHolders(t, "k", "- "+hold.Owner()+" "+hold.Owner())

		for _, i := range []int{1, 2} {
			fx.Master(i).Freeze()
		}
		if _, err := fx.m.Lock(t.Context(), shared(owner)); !errors.Is(err, ErrNoQuorum) {
			t.Errorf("Lock with two masters frozen = %v, want ErrNoQuorum", err)
		}
		if got := hold.Count(); got != 2 {
			t.Errorf("Count = %d, want 2: what was not confirmed does not count", got)
		}
		for _, i := range []int{1, 2} {
			fx.Master(i).Thaw()
		}
		time.Sleep(2 * time.Second)
		if got := fx.Master(2).HGet("k", hold.Owner()); got != "2" {
			t.Errorf("hold count of m3 = %s, want 2: the entry was taken back", got)
		}

		// A majority has lost it: the hold is lost, and the caller locks anew.
		fx.Master(1).FlushAll()
		next, err := fx.m.Lock(t.Context(), shared(owner))
		if err != nil || next == hold {
			t.Fatalf("Lock with the hold at one master of three = %v, want a new hold", err)
		}
		req.Entry.(*entry).wantEnded(t, ErrLost)
		fx.wantHolders(t, "k", next.Owner()+" "+next.Owner()+" "+next.Owner())
		if next.Token() <= hold.Token() {
			t.Errorf("token %d after %d, want a larger one", next.Token(), hold.Token())
		}
	})
}

// A caller who waits enters once the hold of its owner can be confirmed, and stays a waiter until then.
func TestWaitingToEnter(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		req := shared(owner)
		hold := fx.lock(t, req)
		synctest.Wait()
		for _, i := range []int{0, 1} {
			fx.Master(i).Refuse("OOM no")
		}
		again := shared(owner)
		again.Wait = true
		c := begin(t, fx.m, again)
		time.Sleep(time.Second)
		c.wantWaiting(t, "while two masters refuse")
		fx.Master(0).Refuse("")
		time.Sleep(time.Second)
		if h := c.wantHold(t, "when one answers again"); h != hold || h.Count() != 2 {
			t.Errorf("Lock = another hold, or count %d, want the same with 2", h.Count())
		}
		// It ends with its context, and says why.
		fx.Master(0).Refuse("OOM no")
		again = shared(owner)
		again.Wait = true
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := fx.m.Lock(ctx, again)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNoQuorum) {
			t.Errorf("Lock = %v, want DeadlineExceeded and ErrNoQuorum", err)
		}
		fx.each(func(m *redlocktest.Master) { m.Refuse("") })
		hold.end(ErrNotHeld)
		// And at once where it is in vain.
		hold = fx.lock(t, shared(owner))
		synctest.Wait()
		fx.each(func(m *redlocktest.Master) { m.Refuse("NOPERM no") })
		again = shared(owner)
		again.Wait = true
		_, err = fx.m.Lock(t.Context(), again)
		if why, ok := errors.AsType[*MajorityError](err); !ok || !why.Hopeless() {
			t.Errorf("Lock = %v, want it hopeless", err)
		}
		fx.each(func(m *redlocktest.Master) { m.Refuse("") })
		hold.end(ErrNotHeld)
	})
}

// A caller that waits, and is not the first, enters the hold that another call gets for its owner.
func TestOwnersCallersEnterOutOfTurn(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		owner := new(int)
		patiently := func(owner any) Request {
			req := shared(owner)
			req.Wait = true
			return req
		}
		first := begin(t, fx.m, patiently(owner))
		between := begin(t, fx.m, patiently(new(int)))
		last := begin(t, fx.m, patiently(owner))
		unlock(t, hold)
		hold = first.wantHold(t, "it is the first")
		if h := last.wantHold(t, "its owner has the lock"); h != hold {
			t.Error("the last caller has another hold, want that of its owner")
		}
		between.wantWaiting(t, "while another owner has it")
		fx.wantCounts(t, hold, "2", 2)
		for _, c := range []*call{first, last} {
			if err := hold.Unlock(t.Context(), c.entry); err != nil {
				t.Errorf("Unlock = %v", err)
			}
		}
		unlock(t, between.wantHold(t, "then"))
		fx.wantNothing(t, "after all", fx.m)
	})
}

// The first of the waiters enters a hold that its owner gets by a try, instead of the lock that it
// asked for.
func TestFirstWaiterEntersWhatATryGot(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		fx.seat("x", time.Hour, 0, 1, 2)
		m := fx.another(t)
		fx.hold(t, m) // it hears nothing
		again := shared(owner)
		again.Wait = true
		first := begin(t, m, again)
		fx.each(func(m *redlocktest.Master) { m.Del("k"); m.Del("redlock_wait:{k}") })
		hold, err := m.Lock(t.Context(), shared(owner))
		if err != nil {
			t.Fatal(err)
		}
		if h := first.wantHold(t, "its owner has it"); h != hold {
			t.Error("the waiter has another hold")
		}
		fx.wantCounts(t, hold, "2", 2)
		hold.end(ErrNotHeld)
		fx.wantNothing(t, "after all", fx.m, m)
	})
}

// Entries that come and go at the same time leave the masters with the count that the client has, and
// with nothing in the end.
func TestEntriesComeAndGoTogether(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		for i, m := range fx.Masters() {
			m.Delay(time.Duration(i) * time.Millisecond)
		}
		owner := new(int)
		first := shared(owner)
		hold := fx.lock(t, first)
		var callers sync.WaitGroup
		for i := range 20 {
			callers.Go(func() {
				for k := range 5 {
					req := shared(owner)
					req.Wait = i%2 == 0
					h, err := fx.m.Lock(t.Context(), req)
					if err != nil || h != hold {
						t.Errorf("Lock = %v, %v, want the hold that is there", h, err)
						return
					}
					time.Sleep(time.Duration(i*k) * 100 * time.Microsecond)
					if err := h.Unlock(t.Context(), req.Entry); err != nil {
						t.Errorf("Unlock = %v", err)
					}
				}
			})
		}
		callers.Wait()
		time.Sleep(time.Second)
		fx.wantCounts(t, hold, "1", 1)
		unlock(t, hold)
		time.Sleep(time.Second)
		fx.wantNothing(t, "after all", fx.m)
	})
}

// What is entered again is valid as long as the majority said, and never shorter.
func TestEnterExtendsValidity(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		owner := new(int)
		hold := fx.lock(t, shared(owner))
		time.Sleep(time.Second)
		short := shared(owner)
		short.Lease = time.Second
		fx.lock(t, short)
		if got, want := hold.Remaining(), clock.Validity(lease, time.Second); got != want {
			t.Errorf("Remaining after it was entered for a second = %v, want %v", got, want)
		}
		fx.lock(t, shared(owner))
		if got, want := hold.Remaining(), clock.Validity(lease, 0); got != want {
			t.Errorf("Remaining after it was entered again = %v, want %v", got, want)
		}
		hold.end(ErrNotHeld)
	})
}

// What was asked for a writer, and comes behind the downgrade because its script was missing, says nothing
// of the reader that the hold is by then: nothing is lost, and it is asked again for a reader.
func TestWhatComesBehindADowngrade(t *testing.T) {
	for name, tt := range map[string]struct {
		call  func(fx *fixture, hold *Hold, owner any, inner Entry) error
		want  error
		count int
	}{
		"RLock": {func(fx *fixture, _ *Hold, owner any, _ Entry) error {
			req := shared(owner)
			req.Shared = true
			_, err := fx.m.Lock(context.Background(), req)
			return err
		}, nil, 3},
		"Lock": {func(fx *fixture, _ *Hold, owner any, _ Entry) error {
			_, err := fx.m.Lock(context.Background(), shared(owner))
			return err
		}, ErrUpgrade, 2},
		"Unlock": {func(_ *fixture, hold *Hold, _ any, inner Entry) error {
			return hold.Unlock(context.Background(), inner)
		}, nil, 1},
		"Extend": {func(_ *fixture, hold *Hold, _ any, inner Entry) error {
			return hold.Extend(context.Background(), inner, lease)
		}, nil, 2},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				owner, outer := new(int), shared(nil)
				outer.Owner = owner
				hold, inner, m := fx.lock(t, outer), shared(owner), fx.another(t)
				fx.lock(t, inner)
				synctest.Wait()
				fx.each(func(m *redlocktest.Master) {
					m.FlushScripts()
					m.Delay(10 * time.Millisecond)
				})
				result := make(chan error, 1)
				go func() { result <- tt.call(fx, hold, owner, inner.Entry) }()
				time.Sleep(11 * time.Millisecond) // refused, and the refusal is on its way
				fx.each(func(m *redlocktest.Master) { m.Delay(0) })
				fx.take(t, m, "other") // the masters have the script again
				fx.each(func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
				if err := hold.Downgrade(t.Context(), outer.Entry); err != nil {
					t.Errorf("Downgrade = %v", err)
				}
				if err := <-result; err != tt.want && !errors.Is(err, tt.want) {
					t.Errorf("%s = %v, want %v", name, err, tt.want)
				}
				if got := hold.Count(); got != tt.count {
					t.Errorf("Count = %d, want %d", got, tt.count)
				}
				outer.Entry.(*entry).wantAlive(t)
				hold.end(ErrNotHeld)
				time.Sleep(time.Second)
				fx.wantHolders(t, "k", "- - -")
			})
		})
	}
}
