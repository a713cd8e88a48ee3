package multilock

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-multierror"

	"example.com/redlock/clock"
	"example.com/redlock/redlocktest"
)

// A fresh fleet is told from an outage, and the error says how long it takes.
func TestGuarded(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(b bench)
		want time.Duration // 0: not guarded
	}{
		{"all restarted", func(b bench) {
			b.Master(0).Restart()
			b.Master(1).Restart()
			time.Sleep(4 * time.Second)
			b.Master(2).Restart()
		}, 6 * time.Second},
		{"one restarted, one is dead", func(b bench) { b.Master(0).Restart(); b.Master(1).Kill() }, 10 * time.Second},
		{"one restarted, one has another holder", func(b bench) {
			b.Master(0).Restart()
			b.Master(1).Kill()
			b.seat("x:r1", time.Minute, 2)
		}, 10 * time.Second},
		{"one restarted, two are dead", func(b bench) { b.Master(0).Restart(); b.Master(1).Kill(); b.Master(2).Kill() }, 0},
		{"two are dead", func(b bench) { b.Master(0).Kill(); b.Master(1).Kill() }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inGuardedBubble(t, 3, 10*time.Second, func(t *testing.T, b bench) {
				tt.do(b)
				time.Sleep(time.Second)
				_, err := b.m.Acquire(request("k", "a")).Wait(t.Context())
				why, ok := errors.AsType[*MajorityError](err)
				if !ok || !errors.Is(err, ErrNoQuorum) || errors.Is(err, ErrGuarded) != (tt.want > 0) {
					t.Fatalf("Acquire = %v, want ErrNoQuorum, and ErrGuarded: %v", err, tt.want > 0)
				}
				// The guard has a margin of a second and drift, and the uptime of whole seconds another.
				if off := why.Guard - tt.want; tt.want == 0 && why.Guard != 0 || tt.want > 0 && (off < -time.Second || off > 2*time.Second) {
					t.Errorf("Guard = %v, want about %v", why.Guard, tt.want)
				}
				if says := strings.Contains(err.Error(), "restarted lately and grant nothing yet, a majority does in "); says != (tt.want > 0) {
					t.Errorf("%q says that masters restarted: %v", err, says)
				}
			})
		})
	}
}

// A decided vote names no master that was not waited for; one that was cut short names those
// that have not answered.
func TestWhoWasNotWaitedFor(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.seat("x:r1", time.Minute, 0, 1)
		b.Master(2).Delay(timeout / 4)
		_, err := b.m.Acquire(request("k", "a")).Wait(t.Context())
		if why, ok := errors.AsType[*MajorityError](err); !ok || len(why.Nodes.Errors) != 2 || !errors.Is(err, ErrTaken) {
			t.Errorf("Acquire = %v, want ErrTaken and two masters", err)
		}
		b.Master(0).Freeze()
		b.Master(1).Freeze()
		ctx, cancel := context.WithTimeout(t.Context(), timeout/2+timeout/4)
		defer cancel()
		_, err = b.m.Acquire(request("k", "b")).Wait(ctx)
		why, ok := errors.AsType[*MajorityError](err)
		if !ok || !errors.Is(err, ErrNoQuorum) || why.Nodes.Error() != "m1: no answer yet; m2: no answer yet" {
			t.Errorf("Acquire = %v, want ErrNoQuorum, m1 and m2", err)
		}
	})
}

// What a master that nobody waited for is known to lack is a reason as well, where too few
// answered.
func TestWhatIsKnownIsSaid(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		for _, m := range b.Masters() {
			m.Kill()
		}
		time.Sleep(time.Second)
		_, err := b.m.Acquire(request("k", "a")).Wait(t.Context())
		if why, ok := errors.AsType[*MajorityError](err); !ok || len(why.Nodes.Errors) != 3 {
			t.Errorf("Acquire = %v, want three masters that are down", err)
		}
	})
}

// Unlock without waiting says so, and that the release goes on. It does.
func TestReleaseThatIsNotWaitedFor(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		g := b.acquire(t, "k", "a")
		for _, m := range b.Masters() {
			m.Delay(timeout / 4)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		err := b.m.Release(g.Claim, 0).Wait(ctx)
		const want = `redlock: unlock "k": context canceled: not waited for, the release goes on in the background (0 of 3 masters, 2 needed)`
		if !errors.Is(err, ErrNoQuorum) || !errors.Is(err, context.Canceled) || err.Error() != want {
			t.Errorf("Release = %v, want %s", err, want)
		}
		time.Sleep(time.Second)
		b.wantHolders(t, "k", "- - -")
	})
}

// An error begins with the name of the library, once, whatever it is made of.
func TestErrorsBeginOnce(t *testing.T) {
	loss := (&MajorityError{Op: "renew", Name: "a", Need: 2, Of: 3, Nodes: new(multierror.Error)}).With(ErrLost)
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(loss)
	for _, err := range []error{
		loss,
		Fail("lock", "b", Ended(ctx)),
		Fail("lock", "b", Ended(ctx), ErrTaken),
		loss.With(Ended(ctx)),
		ErrGuarded, errUnconfirmed, errNotAwaited,
	} {
		text := err.Error()
		if !strings.HasPrefix(text, "redlock: ") || strings.Count(text, "redlock: ") != 1 {
			t.Errorf("%q does not begin with the name of the library, once", text)
		}
	}
	if err := Fail("lock", "b", Ended(ctx), ErrTaken); !errors.Is(err, context.Canceled) || !errors.Is(err, ErrTaken) || !errors.Is(err, loss) {
		t.Errorf("%v does not match what it is made of", err)
	}
}

// hearer is a Waiter that keeps what it was told.
type hearer struct {
	mu  sync.Mutex
	all []*MajorityError
}

func (h *hearer) Outage(why *MajorityError) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, why)
}

func (h *hearer) heard() []*MajorityError {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.all)
}

// A bid tells its waiter of each ask that too few masters answered, and once when that is over.
func TestBidTellsOfAnOutage(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.seat("x:r1", time.Minute, 0, 1, 2)
		var h hearer
		bid := b.m.NewBid(Wanted{Key: "k", Lease: bidLease, Since: clock.Now(), Waiter: &h})
		bid.Ask()
		w := wait(t, bid)
		time.Sleep(5 * time.Second)
		if heard := h.heard(); len(heard) > 0 {
			t.Fatalf("told of %v while another owner has the lock, want nothing", heard[0])
		}
		for _, m := range b.Masters() {
			m.Refuse("OOM command not allowed")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		heard := h.heard()
		if n := len(heard); n < 3 || n > 10 || heard[0] == nil || !slices.Equal(heard[0].Reasons(), heard[n-1].Reasons()) {
			t.Fatalf("told %d times of %v, want it every 200 to 400 ms, and alike", n, heard)
		}
		for _, m := range b.Masters() {
			m.Refuse("")
		}
		time.Sleep(5 * time.Second)
		over := 0
		heard = h.heard()
		for _, why := range heard {
			if why == nil {
				over++
			}
		}
		if over != 1 || heard[len(heard)-1] != nil {
			t.Errorf("told %d times that it is over, want once, at last: %v", over, heard)
		}
		if w.now().won {
			t.Error("won what another owner has")
		}
	})
}

// Where waiting is in vain, Wait returns as soon as that is known.
func TestBidInVain(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(b bench)
		want bool
	}{
		{"a majority has another key there", func(b bench) { b.Master(0).Set("k", "x"); b.Master(2).Set("k", "x") }, true},
		{"and the third is frozen", func(b bench) { b.Master(0).Set("k", "x"); b.Master(2).Set("k", "x"); b.Master(1).Freeze() }, true},
		{"and the third has another holder", func(b bench) {
			b.Master(0).Set("k", "x")
			b.Master(2).Set("k", "x")
			b.seat("x:r1", time.Minute, 1)
		}, true},
		{"a minority, and two are dead", func(b bench) { b.Master(0).Set("k", "x"); b.Master(1).Kill(); b.Master(2).Kill() }, false},
		{"a majority is dead", func(b bench) { b.Master(0).Kill(); b.Master(1).Kill() }, false},
		{"a majority may not", func(b bench) { b.Master(0).Refuse("NOPERM no"); b.Master(1).Refuse("NOPERM no") }, true},
		{"a majority has no memory", func(b bench) { b.Master(0).Refuse("OOM no"); b.Master(1).Refuse("OOM no") }, false},
		{"a majority wants a password", func(b bench) {
			for _, m := range b.Masters()[:2] {
				m.Password("secret")
				m.RestartWithData()
			}
		}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, b bench) {
				tt.do(b)
				bid := b.m.NewBid(Wanted{Key: "k", Lease: bidLease, Since: clock.Now()})
				start := time.Now()
				bid.Ask()
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				_, won := bid.Wait(ctx, nil, nil)
				took := time.Since(start)
				if won || (took < 2*time.Second) != tt.want {
					t.Errorf("Wait = %v after %v, want it to return soon: %v", won, took, tt.want)
				}
				if why := bid.Failure(nil); why == nil || why.Hopeless() != tt.want {
					t.Errorf("Failure = %v, want it hopeless: %v", why, tt.want)
				}
				bid.GiveUp(nil)
			})
		})
	}
}

// What turns out to be in vain only while a bid waits is not found out an ask later.
func TestBidTurnsOutInVain(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.seat("x:r1", time.Minute, 0, 1, 2)
		bid := newBid(b.m)
		bid.Ask()
		time.AfterFunc(5*time.Second, func() {
			for _, m := range b.Masters() {
				m.Refuse("NOPERM no")
			}
		})
		start := time.Now()
		_, won := bid.Wait(t.Context(), nil, nil)
		if took := time.Since(start) - 5*time.Second; won || took < 0 || took >= lastAsk {
			t.Errorf("Wait = %v %v after the masters refused, want false with the next ask", won, took)
		}
		bid.GiveUp(nil)
	})
}

// Ready waits for the guard, for a connection, for a steady clock; and goes back to nothing.
func TestReady(t *testing.T) {
	for _, tt := range []struct {
		name  string
		do    func(b bench)
		heal  func(b bench)
		limit time.Duration // after heal
		says  string
	}{
		{
			"dead", func(b bench) { b.Master(0).Kill(); b.Master(1).Kill() },
			func(b bench) { b.Master(0).RestartWithData(); b.Master(0).SetUptime(time.Hour) }, 12 * time.Second, "connection refused",
		},
		{"guarded", func(b bench) { b.Master(0).Restart(); b.Master(1).Restart() }, func(bench) {}, 12 * time.Second, "restarted lately"},
		{"clock", func(b bench) { b.Master(0).Skew(time.Hour); b.Master(1).Skew(time.Hour) }, func(bench) {}, time.Minute, "clock ran ahead"},
		{
			"loading", func(b bench) { b.Master(0).Refuse("LOADING x"); b.Master(1).Refuse("LOADING x") },
			func(b bench) { b.Master(0).Refuse(""); b.Master(1).Refuse("") }, time.Second, "LOADING x",
		},
		{
			"replica", func(b bench) { b.Master(0).SetRole("slave"); b.Master(1).SetRole("slave") },
			func(b bench) { b.Master(1).SetRole("master") }, 13 * time.Second, "is a replica",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inGuardedBubble(t, 3, 10*time.Second, func(t *testing.T, b bench) {
				if err := b.m.Ready(t.Context(), nil); err != nil {
					t.Fatalf("Ready at first = %v", err)
				}
				tt.do(b)
				time.Sleep(3 * time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				start := time.Now()
				err := b.m.Ready(ctx, nil)
				why, ok := errors.AsType[*MajorityError](err)
				if took := time.Since(start); !ok || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNoQuorum) || took != 2*time.Second {
					t.Fatalf("Ready = %v after %v, want ErrNoQuorum when the deadline passes", err, took)
				}
				if why.Got != 1 || why.Op != "ready" || len(why.Nodes.Errors) != 2 || !strings.Contains(why.Nodes.Error(), tt.says) {
					t.Errorf("Ready = %v, want two masters, with %s", err, tt.says)
				}
				start = time.Now()
				tt.heal(b)
				ctx, cancel = context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				if err := b.m.Ready(ctx, nil); err != nil || time.Since(start) >= tt.limit {
					t.Errorf("Ready = %v after %v, want nil before %v", err, time.Since(start), tt.limit)
				}
				if _, err := b.m.Acquire(request("k", "a")).Wait(t.Context()); err != nil {
					t.Errorf("Acquire when ready = %v", err)
				}
			})
		})
	}
}

// Ready comes back at once with what does not pass by itself, and when done is closed.
func TestReadyInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := bench{Fleet: redlocktest.Start(t, 3)}
		for _, m := range b.Masters() {
			m.Delay(10 * time.Millisecond)
			m.Password("secret")
		}
		b.m = b.another(t, 0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		err := b.m.Ready(ctx, nil)
		if took := time.Since(start); err == nil || !strings.Contains(err.Error(), "NOAUTH") || took > timeout {
			t.Errorf("Ready of a client that connects = %v after %v, want NOAUTH as soon as the masters say so", err, took)
		}
	})
	inBubble(t, 3, func(t *testing.T, b bench) {
		for _, m := range b.Masters()[:2] {
			m.Password("secret")
			m.RestartWithData()
		}
		time.Sleep(time.Second)
		start := time.Now()
		err := b.m.Ready(t.Context(), nil)
		if took := time.Since(start); !errors.Is(err, ErrNoQuorum) || !strings.Contains(err.Error(), "NOAUTH") || took > 0 {
			t.Errorf("Ready = %v after %v, want NOAUTH at once", err, took)
		}
	})
	inBubble(t, 3, func(t *testing.T, b bench) {
		b.Master(0).Kill()
		b.Master(1).Kill()
		time.Sleep(time.Second)
		done := make(chan struct{})
		time.AfterFunc(time.Second, func() { close(done) })
		start := time.Now()
		if err := b.m.Ready(t.Context(), done); err == nil || time.Since(start) != time.Second {
			t.Errorf("Ready = %v after %v, want an error when done is closed", err, time.Since(start))
		}
	})
}

// inGuardedBubble runs f with n masters that run for a day, and a client of theirs with a guard.
func inGuardedBubble(t *testing.T, n int, guard time.Duration, f func(*testing.T, bench)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		b := bench{Fleet: redlocktest.Start(t, n)}
		b.m = b.another(t, guard)
		f(t, b)
	})
}
