package multilock

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// How the masters come to agree on a fencing token. Tokens are relative to what is proposed: the time
// of the masters' clocks, in µs.

// fences sets the fencing counters of k, 0 for none.
func (fx *fixture) fences(counters ...int64) {
	for i, c := range counters {
		if c != 0 {
			fx.Master(i).Set("redlock_fence:{k}", strconv.FormatInt(c, 10))
		}
	}
}

// wantFences checks the fencing counters of k, of as many masters as there are.
func (fx *fixture) wantFences(t *testing.T, when string, want ...int64) {
	t.Helper()
	synctest.Wait()
	for i, w := range want {
		if got := fx.Master(i).Get("redlock_fence:{k}"); got != strconv.FormatInt(w, 10) {
			t.Errorf("%s: the fencing counter of m%d is %s, want %d", when, i+1, got, w)
		}
	}
}

// from returns the absolute numbers of relative ones. 0 stays: there is no counter.
func from(proposal int64, relative ...int64) []int64 {
	numbers := make([]int64, len(relative))
	for i, n := range relative {
		if n != 0 {
			numbers[i] = proposal + n
		}
	}
	return numbers
}

// inOrder has m1 answer first and m3 last.
func (fx *fixture) inOrder(unit time.Duration) {
	for i, m := range fx.Masters() {
		m.Delay(unit + time.Duration(i)*unit/10)
	}
}

func TestToken(t *testing.T) {
	for _, tt := range []struct {
		name     string
		counters []int64 // before; 0: none
		want     int64
		after    []int64 // counters
		raises   int64   // script calls for them
	}{
		{"the proposal", []int64{0, 0, 0}, 0, []int64{0, 0, 0}, 0},
		{"the proposal, above what there was", []int64{-3, -2, -1}, 0, []int64{0, 0, 0}, 0},
		{"one more than what all had", []int64{20, 20, 20}, 21, []int64{21, 21, 21}, 0},
		{"the others are raised to the largest", []int64{20, 30, 0}, 31, []int64{31, 31, 31}, 2},
		{"one that answers late is behind", []int64{30, 30, 0}, 31, []int64{31, 31, 0}, 0},
		{"one that answers late is ahead", []int64{30, 30, 50}, 31, []int64{31, 31, 51}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				proposal := fx.m.Now().UnixMicro()
				fx.fences(from(proposal, tt.counters...)...)
				fx.inOrder(time.Millisecond)
				before := fx.calls()
				hold, err := fx.try(t)
				if err != nil || hold.Token() != proposal+tt.want {
					t.Fatalf("Lock = %v, want a hold with token %+d", err, tt.want)
				}
				synctest.Wait()
				time.Sleep(5 * time.Millisecond)
				if got := fx.calls() - before - 3; got != tt.raises {
					t.Errorf("%d script calls beside the acquire, want %d", got, tt.raises)
				}
				var after []int64
				for _, n := range tt.after {
					after = append(after, proposal+n)
				}
				fx.wantFences(t, "held", after...)
				unlock(t, hold)
			})
		})
	}
}

// A is granted m1 and m2, with 11 and 12. B is granted m1 and m3 then, with 12 and 11. The largest
// number among the grants would be 12 for both.
func TestTokensAreUnique(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		const base = 1 << 52 // above what is proposed
		fx.fences(base+10, base+11, base+10)
		fx.Master(2).Kill()
		a, err := fx.try(t)
		if err != nil {
			t.Fatal(err)
		}
		fx.wantFences(t, "A has it", base+12, base+12)
		unlock(t, a)
		fx.Master(2).RestartWithData()
		time.Sleep(time.Second)
		fx.Master(1).Kill()
		b, err := fx.try(t)
		if err != nil {
			t.Fatal(err)
		}
		if a.Token() != base+12 || b.Token() <= a.Token() {
			t.Errorf("got tokens %d and then %d, want %d and a larger one", a.Token(), b.Token(), base+12)
		}
		if c := fx.Master(0).Get("redlock_fence:{k}"); c != fx.Master(2).Get("redlock_fence:{k}") || c != fmt.Sprint(b.Token()) {
			t.Errorf("counters are %s and %s, want token %d at both", c, fx.Master(2).Get("redlock_fence:{k}"), b.Token())
		}
		unlock(t, b)
	})
}

// Whatever happens between a grant and a raise, on the way to a master.
func TestRaise(t *testing.T) {
	const late = 10 * time.Millisecond
	const base = 1 << 52 // above what is proposed
	for _, tt := range []struct {
		name    string
		between func(fx *fixture)
		want    int64 // above base, 0: none
		after   []int64
	}{
		{"nothing", func(*fixture) {}, 31, []int64{31, 31, 31}},
		// A number that is there already may be somebody else's token.
		{"the counters are equal", func(fx *fixture) { fx.fences(base+31, 0, base+31) }, 32, []int64{32, 32, 32}},
		{"one counter is equal", func(fx *fixture) { fx.fences(base + 31) }, 31, []int64{31, 31, 31}},
		{"the counters are above", func(fx *fixture) { fx.fences(base+40, 0, base+50) }, 51, []int64{51, 51, 51}},
		{"one lock is gone", func(fx *fixture) { fx.Master(0).Del("k") }, 31, []int64{21, 31, 31}},
		{"two locks are gone", func(fx *fixture) { fx.Master(0).Del("k"); fx.Master(2).Del("k") }, 0, nil},
		{"two locks are another's", func(fx *fixture) { fx.seat("you", time.Minute, 0, 2) }, 0, nil},
		{"two masters are dead", func(fx *fixture) { fx.Master(0).Kill(); fx.Master(2).Kill() }, 0, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				// The raise finds its script.
				for range 2 {
					fx.each(func(m *redlocktest.Master) { m.Del("redlock_fence:{k}") })
					fx.fences(base+20, base+30)
					if hold, err := fx.try(t); err != nil {
						t.Fatal(err)
					} else {
						synctest.Wait()
						unlock(t, hold)
					}
					synctest.Wait()
				}
				fx.each(func(m *redlocktest.Master) { m.Del("redlock_fence:{k}") })
				fx.fences(base+20, base+30)
				fx.inOrder(late)
				c := begin(t, fx.m, request("k"))
				time.Sleep(2*late + late/2) // the grants have been counted
				tt.between(fx)
				time.Sleep(time.Second)
				if !c.over() || (c.err == nil) != (tt.want > 0) {
					t.Fatalf("Lock = %v, want a hold: %v", c.err, tt.want > 0)
				}
				if tt.want > 0 && c.hold.Token() != base+tt.want {
					t.Errorf("token %d above base, want %d", c.hold.Token()-base, tt.want)
				}
				if tt.want == 0 && (!errors.Is(c.err, ErrNoQuorum) || errors.Is(c.err, ErrTaken)) {
					t.Errorf("Lock = %v, want ErrNoQuorum", c.err)
				}
				for i, n := range tt.after {
					tt.after[i] = base + n
				}
				fx.wantFences(t, "then", tt.after...)
				for i, m := range fx.Masters() {
					if h := m.Holder("k"); tt.want == 0 && m.Alive() && h != "" && h != id("you") {
						t.Errorf("m%d: %s has the lock, want it rolled back", i+1, h)
					}
				}
			})
		})
	}
}

// A token that is never agreed on is given up, and so is one whose caller has gone, or whose lease is
// used up by the raises.
func TestRaiseGivesUp(t *testing.T) {
	const base = 1 << 52
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.fences(base+20, base+30)
		fx.each(func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		stop := make(chan struct{})
		gone := make(chan struct{})
		go func() { // somebody raises the counters all the time
			defer close(gone)
			for c := int64(base + 100); ; c += 100 {
				select {
				case <-stop:
					return
				case <-time.After(100 * time.Microsecond):
					fx.fences(c, c+1, c+2)
				}
			}
		}()
		before := fx.calls()
		_, err := fx.try(t)
		close(stop)
		<-gone
		if !errors.Is(err, ErrNoQuorum) || errors.Is(err, ErrTaken) {
			t.Errorf("Lock = %v, want ErrNoQuorum, for want of a token", err)
		}
		time.Sleep(time.Second)
		// An acquire, three raises, the first of which finds no script, and a release.
		if got := fx.calls() - before; got > 3*(1+1+3+1) {
			t.Errorf("%d script calls, want 18 at most", got)
		}
		fx.wantNothing(t, "then", fx.m)
	})
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.fences(base+20, base+30)
		fx.each(func(m *redlocktest.Master) { m.Delay(10 * time.Millisecond) })
		ctx, cancel := context.WithTimeout(t.Context(), 25*time.Millisecond)
		defer cancel()
		_, err := fx.m.Lock(ctx, request("k"))
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNoQuorum) || !errors.Is(err, errTokens) {
			t.Errorf("Lock = %v, want DeadlineExceeded and ErrNoQuorum, for want of a token", err)
		}
		time.Sleep(time.Second)
		fx.wantNothing(t, "then", fx.m)
	})
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.fences(base+20, base+30)
		fx.each(func(m *redlocktest.Master) { m.Delay(20 * time.Millisecond) })
		req := request("k")
		req.Lease = 60 * time.Millisecond
		if _, err := fx.m.Lock(t.Context(), req); !errors.Is(err, ErrNoQuorum) {
			t.Errorf("Lock = %v, want ErrNoQuorum", err)
		}
		time.Sleep(time.Second)
		fx.wantNothing(t, "then", fx.m)
	})
}

// Masters that hand a lock off with counters that differ agree on the largest of them, above the
// token of who had it, before the next one has it. They agree at once if none is above what the next
// one proposed.
func TestTokenOfHandOffs(t *testing.T) {
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
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				hold := fx.take(t, fx.m, "k")
				m := fx.another(t)
				m.subscribe()
				time.Sleep(time.Second)
				c := askedQuiet(m)
				proposal := m.Now().UnixMicro()
				claim := hold.claim
				claim.Token = proposal + tt.token
				fx.fences(from(proposal, tt.counters...)...)
				fx.inOrder(time.Millisecond)
				before := fx.calls()
				fx.m.release(claim, 0)
				time.Sleep(20 * time.Millisecond)
				g := wantWon(t, "after the release", c)
				if g.Token != proposal+tt.want {
					t.Errorf("token %+d, want %+d", g.Token-proposal, tt.want)
				}
				if got := fx.calls() - before - 3; got != tt.raises {
					t.Errorf("%d script calls beside the release, want %d", got, tt.raises)
				}
				var after []int64
				for _, n := range tt.after {
					after = append(after, proposal+n)
				}
				fx.wantFences(t, "then", after...)
				m.release(g.Claim, 0)
			})
		})
	}
}

// Where a release and the next round cross, some masters grant what others hand off. They agree at once
// all the same.
func TestTokenOfARoundThatCrossesARelease(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		m := fx.another(t)
		m.subscribe()
		time.Sleep(time.Second)
		one, rest := hold.claim, hold.claim
		one.At, rest.At = 1, 1<<1|1<<2
		fx.m.release(one, 0)
		synctest.Wait()
		proposal := m.Now().UnixMicro()
		before := fx.calls()
		c := askedQuiet(m)
		fx.m.release(rest, 0)
		g := wantWon(t, "with a grant and two hand-offs", c)
		if g.Token != proposal {
			t.Errorf("token %+d, want what was proposed", g.Token-proposal)
		}
		if got := fx.calls() - before; got != 3+2 {
			t.Errorf("%d script calls, want a round and two releases", got)
		}
		fx.wantFences(t, "then", proposal, proposal, proposal)
		m.release(g.Claim, 0)
	})
}

// What is proposed is above what was read before, so that masters whose counters are ahead of their clocks
// agree at once.
func TestProposalIsAboveWhatWasRead(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		const base = 1 << 52
		fx.fences(base+20, base+30, base+40)
		fx.seat("x", time.Minute, 0)
		fx.seat("y", time.Minute, 1)
		c := askedQuiet(fx.m) // m3 grants
		backOff(t, c)
		synctest.Wait()
		for _, i := range []int{0, 1} {
			fx.Master(i).Del("k")
		}
		before := fx.calls()
		ask(c)
		g := wantWon(t, "with the next round", c)
		if got := fx.calls() - before; got != 3 || g.Token != base+42 {
			t.Errorf("%d script calls for token %d above base, want 3 for 42", got, g.Token-base)
		}
		fx.m.release(g.Claim, 0)
	})
}

// A master that is full raises no counter, but hands the lock off. Its caller does not go round and round
// with what it is handed.
func TestFullMastersAreNotAskedWithoutPause(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		const base = 1 << 52 // above what is proposed
		m := fx.another(t)
		hold := fx.take(t, fx.m, "k")
		c := begin(t, m, patient("k"))
		time.Sleep(time.Second)
		fx.fences(base+10, base+20, base+30)
		fx.Master(2).Kill()
		for i := range 2 {
			fx.Master(i).Fill(true)
			fx.Master(i).Delay(time.Millisecond)
		}
		before := fx.calls()
		unlock(t, hold)
		time.Sleep(time.Second)
		c.wantWaiting(t, "no token can be agreed on")
		if got := fx.calls() - before; got > 250 {
			t.Errorf("%d script calls in a second, want 250 at most", got)
		}
		for i := range 2 {
			fx.Master(i).Fill(false)
		}
		time.Sleep(time.Second)
		unlock(t, c.wantHold(t, "there is memory"))
		time.Sleep(time.Second)
	})
}

// A counter of one master that is no token makes neither equal tokens nor a name that nobody can lock, and
// does not spread. Nor does the last token there is: who is told of it asks for another.
func TestCounterThatIsNoToken(t *testing.T) {
	for _, counter := range []int64{script.MaxToken, script.MaxToken + 1, script.MaxToken + 2, math.MaxInt64} {
		t.Run(fmt.Sprint(counter), func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				fx.Master(0).Set("redlock_fence:{k}", fmt.Sprint(counter))
				var last int64
				for i := range 6 {
					hold := fx.take(t, fx.another(t), "k")
					if got := hold.Token(); got <= last || got > time.Now().Add(time.Hour).UnixMicro() {
						t.Errorf("hold %d: token %d after %d, want the time", i, got, last)
					}
					last = hold.Token()
					unlock(t, hold)
					time.Sleep(time.Millisecond)
				}
				for _, m := range fx.Masters() {
					if got := m.Get("redlock_fence:{k}"); got != fmt.Sprint(last) {
						t.Errorf("%s counts %s, want %d", m.Name(), got, last)
					}
				}
			})
		})
	}
}
