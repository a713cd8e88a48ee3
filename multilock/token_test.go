package multilock

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlocktest"
)

// fences sets the fencing counters of k, 0 for none.
func (b bench) fences(counters ...int64) {
	for i, c := range counters {
		if c > 0 {
			b.Master(i).Set("redlock_fence:{k}", strconv.FormatInt(c, 10))
		}
	}
}

// wantFences checks the fencing counters of k.
func (b bench) wantFences(t *testing.T, when string, want ...int64) {
	t.Helper()
	synctest.Wait()
	for i, w := range want {
		if got := b.Master(i).Get("redlock_fence:{k}"); got != strconv.FormatInt(w, 10) {
			t.Errorf("%s: the fencing counter of m%d is %s, want %d", when, i+1, got, w)
		}
	}
}

// inOrder has m1 answer first and m3 last.
func (b bench) inOrder(unit time.Duration) {
	for i, m := range b.Masters() {
		m.Delay(unit + time.Duration(i)*unit/10)
	}
}

// calls returns how many scripts ran on all masters.
func (b bench) calls() (n int64) {
	for _, m := range b.Masters() {
		n += m.Calls("EVALSHA") + m.Calls("EVAL")
	}
	return n
}

// try acquires k with 7 as the proposal.
func (b bench) try(t *testing.T) (Grant, error) {
	t.Helper()
	return b.m.Acquire(Request{Owner: b.m.NewOwner("k"), Lease: bidLease, Count: 1, Proposal: 7}).Wait(t.Context())
}

// heldBesideAnother returns a hold of k, and another client that hears what the masters publish.
func (b bench) heldBesideAnother(t *testing.T) (Grant, *Masters) {
	t.Helper()
	held, err := b.try(t)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	m := b.another(t, 0)
	m.Listen()
	time.Sleep(time.Second)
	return held, m
}

func TestToken(t *testing.T) {
	for _, tt := range []struct {
		name     string
		counters []int64 // before
		want     int64
		after    []int64 // counters
		raises   int64   // script calls for them
	}{
		{"the proposal", []int64{0, 0, 0}, 7, []int64{7, 7, 7}, 0},
		{"the proposal, above what there was", []int64{1, 2, 3}, 7, []int64{7, 7, 7}, 0},
		{"one more than what all had", []int64{20, 20, 20}, 21, []int64{21, 21, 21}, 0},
		{"the others are raised to the largest", []int64{20, 30, 0}, 31, []int64{31, 31, 31}, 2},
		{"one that answers late is behind", []int64{30, 30, 0}, 31, []int64{31, 31, 7}, 0},
		{"one that answers late is ahead", []int64{30, 30, 50}, 31, []int64{31, 31, 51}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b bench) {
				b.fences(tt.counters...)
				b.inOrder(time.Millisecond)
				before := b.calls()
				g, err := b.try(t)
				if err != nil || g.Token != tt.want {
					t.Fatalf("Acquire = token %d, %v, want %d", g.Token, err, tt.want)
				}
				synctest.Wait()
				// The first raise finds no script.
				if got := b.calls() - before - 3; got != 2*tt.raises {
					t.Errorf("%d script calls beside the acquire, want %d", got, 2*tt.raises)
				}
				b.wantFences(t, "held", tt.after...)
			})
		})
	}
}

// A is granted m1 and m2, with 11 and 12. B is granted m1 and m3 then, with 12 and 11. The
// largest number among the grants would be 12 for both.
func TestTokensAreUnique(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.fences(10, 11, 10)
		b.Master(2).Kill()
		a, err := b.try(t)
		if err != nil {
			t.Fatal(err)
		}
		b.wantFences(t, "A has it", 12, 12)
		if err := b.m.Release(a.Claim, 0).Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.Master(2).RestartWithData()
		time.Sleep(time.Second)
		b.Master(1).Kill()
		second, err := b.try(t)
		if err != nil {
			t.Fatal(err)
		}
		if a.Token != 12 || second.Token <= a.Token {
			t.Errorf("got tokens %d and then %d, want 12 and a larger one", a.Token, second.Token)
		}
		if c := b.Master(0).Get("redlock_fence:{k}"); c != b.Master(2).Get("redlock_fence:{k}") || c != fmt.Sprint(second.Token) {
			t.Errorf("counters are %s and %s, want token %d at both", c, b.Master(2).Get("redlock_fence:{k}"), second.Token)
		}
	})
}

// Whatever happens between a grant and a raise, on the way to a master.
func TestRaise(t *testing.T) {
	const late = 10 * time.Millisecond
	for _, tt := range []struct {
		name    string
		between func(b bench)
		want    int64 // 0: none
		after   []int64
	}{
		{"nothing", func(bench) {}, 31, []int64{31, 31, 31}},
		// A number that is there already may be somebody else's token.
		{"the counters are equal", func(b bench) { b.fences(31, 0, 31) }, 32, []int64{32, 32, 32}},
		{"one counter is equal", func(b bench) { b.fences(31) }, 31, []int64{31, 31, 31}},
		{"the counters are above", func(b bench) { b.fences(40, 0, 50) }, 51, []int64{51, 51, 51}},
		{"one lock is gone", func(b bench) { b.Master(0).Del("k") }, 31, []int64{21, 31, 31}},
		{"two locks are gone", func(b bench) { b.Master(0).Del("k"); b.Master(2).Del("k") }, 0, nil},
		{"two locks are another's", func(b bench) {
			for _, i := range []int{0, 2} {
				b.Master(i).Del("k")
				b.seat("you:r1", time.Minute, i)
			}
		}, 0, nil},
		{"two masters are dead", func(b bench) { b.Master(0).Kill(); b.Master(2).Kill() }, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b bench) {
				// The raise finds its script.
				b.fences(20, 30)
				if g, err := b.try(t); err != nil {
					t.Fatal(err)
				} else if err := b.m.Release(g.Claim, 0).Wait(t.Context()); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				for _, m := range b.Masters() {
					m.Del("redlock_fence:{k}")
				}
				b.fences(20, 30)
				b.inOrder(late)
				var g Grant
				var err error
				done := make(chan struct{})
				go func() {
					defer close(done)
					g, err = b.try(t)
				}()
				time.Sleep(2*late + late/2) // the grants have been counted
				tt.between(b)
				<-done
				if (err == nil) != (tt.want > 0) || g.Token != tt.want {
					t.Errorf("Acquire = token %d, %v, want %d", g.Token, err, tt.want)
				}
				if tt.want == 0 && !errors.Is(err, ErrNoQuorum) {
					t.Errorf("Acquire = %v, want ErrNoQuorum", err)
				}
				time.Sleep(time.Second)
				b.wantFences(t, "then", tt.after...)
				for i, m := range b.Masters() {
					if tt.want == 0 && m.Alive() && m.Holder("k") != "" && m.Holder("k") != id("you:r1") {
						t.Errorf("m%d: %s has the lock, want it rolled back", i+1, m.Holder("k"))
					}
				}
			})
		})
	}
}

func each(b bench, f func(*redlocktest.Master)) {
	for _, m := range b.Masters() {
		f(m)
	}
}

// A token that is never agreed on is given up, and so is one whose caller has gone.
func TestRaiseGivesUp(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.fences(20, 30)
		each(b, func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		stop := make(chan struct{})
		gone := make(chan struct{})
		go func() { // somebody raises the counters all the time
			defer close(gone)
			for c := int64(100); ; c += 100 {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Microsecond):
					b.fences(c, c+1, c+2)
				}
			}
		}()
		before := b.calls()
		_, err := b.try(t)
		close(stop)
		<-gone
		if !errors.Is(err, ErrNoQuorum) || errors.Is(err, ErrTaken) {
			t.Errorf("Acquire = %v, want ErrNoQuorum", err)
		}
		synctest.Wait()
		if got := b.calls() - before; got > 3*(1+1+maxRaises+1) {
			t.Errorf("%d script calls, want at most those of an acquire, %d raises and a release", got, maxRaises)
		}
		time.Sleep(time.Second)
		b.wantHolders(t, "k", "- - -")
	})
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.fences(20, 30)
		each(b, func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Millisecond)
		defer cancel()
		_, err := b.m.Acquire(Request{Owner: b.m.NewOwner("k"), Lease: bidLease, Count: 1, Proposal: 7}).Wait(ctx)
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNoQuorum) {
			t.Errorf("Acquire = %v, want DeadlineExceeded and ErrNoQuorum", err)
		}
		time.Sleep(time.Second)
		b.wantHolders(t, "k", "- - -")
	})
	// The lease is used up by the raises.
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.fences(20, 30)
		each(b, func(m *redlocktest.Master) { m.Delay(20 * time.Millisecond) })
		_, err := b.m.Acquire(Request{Owner: b.m.NewOwner("k"), Lease: 60 * time.Millisecond, Count: 1, Proposal: 7}).Wait(t.Context())
		if !errors.Is(err, ErrNoQuorum) {
			t.Errorf("Acquire = %v, want ErrNoQuorum", err)
		}
		time.Sleep(time.Second)
		b.wantHolders(t, "k", "- - -")
	})
}

// Masters that pass a lock on with counters that differ agree on the largest of them, above
// the token of who had it, before the next one has it. They agree at once if none is above
// what the next one proposed.
func TestTokenOfPasses(t *testing.T) {
	for _, tt := range []struct {
		name     string
		token    int64   // of who has it; all are relative to what the next one proposed
		counters []int64 // while he has it
		want     int64
		after    []int64
		raises   int64 // script calls for them
	}{
		{"all below", -9, []int64{-9, -9, -9}, 0, []int64{0, 0, 0}, 0},
		{"all below, one lost", -9, []int64{-9, -500, -9}, 0, []int64{0, 0, 0}, 0},
		{"the token above", 7, []int64{7, 7, 7}, 8, []int64{8, 8, 8}, 0},
		{"the token above, one lost", 7, []int64{7, -500, 7}, 8, []int64{8, 8, 8}, 0},
		{"one above", -9, []int64{-9, 50, -9}, 51, []int64{51, 51, 51}, 2},
		{"one above whose message comes late", -9, []int64{-9, -9, 50}, 0, []int64{0, 0, 51}, 0},
		{"all different", 7, []int64{60, 50, 70}, 61, []int64{61, 61, 71}, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b bench) {
				a, m := b.heldBesideAnother(t)
				bid := askedBid(m)
				proposal := time.Now().UnixMicro()
				from := func(relative []int64) (numbers []int64) {
					for _, n := range relative {
						numbers = append(numbers, proposal+n)
					}
					return numbers
				}
				a.Token = proposal + tt.token
				b.fences(from(tt.counters)...)
				b.inOrder(time.Millisecond)
				w := wait(t, bid)
				before := b.calls()
				b.m.Release(a.Claim, 0)
				time.Sleep(20 * time.Millisecond)
				if got := w.now(); !got.won || got.grant.Token != proposal+tt.want {
					t.Errorf("after the release: won %v with token %+d, want %+d", got.won, got.grant.Token-proposal, tt.want)
				}
				// The first raise finds no script.
				if got := b.calls() - before - 3; got != 2*tt.raises {
					t.Errorf("%d script calls beside the release, want %d", got, 2*tt.raises)
				}
				b.wantFences(t, "then", from(tt.after)...)
			})
		})
	}
}

// Where a release and the next ask cross, some masters grant what others pass on. They agree
// at once all the same.
func TestTokenOfAnAskThatCrossesARelease(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		a, m := b.heldBesideAnother(t)
		rest := a.Claim
		a.At, rest.At = 1, 1<<1|1<<2
		b.m.Release(a.Claim, 0)
		synctest.Wait()
		bid := askedBid(m)
		proposal := time.Now().UnixMicro()
		before := b.calls()
		b.m.Release(rest, 0)
		if g := wantWon(t, "with a grant and two passes", bid); g.Token != proposal {
			t.Errorf("token %d, want %d, as proposed", g.Token, proposal)
		}
		if got := b.calls() - before; got != 2 {
			t.Errorf("%d script calls, want 2", got)
		}
		b.wantFences(t, "then", proposal, proposal, proposal)
	})
}

// A bid whose masters do not agree begins anew as another owner, and holds nothing.
func TestBidWithoutToken(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.seat("x:r1", time.Minute, 0, 1, 2)
		bid := askedBid(b.m)
		first := bid.current()
		b.m.HandedOff(0, bid.pass(1, 30)) // the masters never passed it
		b.m.HandedOff(1, bid.pass(1, 40))
		w := wait(t, bid)
		time.Sleep(firstH)
		if got := w.now(); got.won {
			t.Errorf("won with token %d, want nothing", got.grant.Token)
		}
		if bid.current() == first {
			t.Errorf("still owner %s, want a new one", first)
		}
		each(b, func(m *redlocktest.Master) { m.Del("k") })
		time.Sleep(2 * lastAsk)
		if got := w.now(); !got.won || got.grant.Token <= 41 {
			t.Errorf("won %v with token %d, want a token above what was read", got.won, got.grant.Token)
		}
	})
}

// A master whose vote has ended may have restarted since, so its counter settles nothing, but
// the token is not below it.
func TestTokenOfAVoteThatHasEnded(t *testing.T) {
	for _, tt := range []struct {
		name   string
		others []int64 // that m2 and m3 pass
		agreed bool
	}{
		{"with one other", []int64{50, 40}, false},
		{"beside two that agree", []int64{50, 50}, true},
		{"above two that agree", []int64{40, 40}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b bench) {
				b.seat("x:r1", time.Minute, 0, 1, 2)
				bid := askedBid(b.m)
				b.m.HandedOff(0, bid.pass(1, 50))
				time.Sleep(firstH)
				bid.Ask()
				for i, c := range tt.others {
					b.m.HandedOff(i+1, bid.pass(2, c))
				}
				bid.mu.Lock()
				defer bid.mu.Unlock()
				if !bid.over || bid.agreed != tt.agreed {
					t.Errorf("over %v, agreed %v on %d, want true, %v", bid.over, bid.agreed, bid.grant.Token, tt.agreed)
				}
			})
		})
	}
}
