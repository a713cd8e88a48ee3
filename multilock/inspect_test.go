package multilock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/redlocktest"
)

// What the masters say of a lock, and of themselves.

func TestInspectWaitsForEverybody(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		hold := fx.take(t, fx.m, "k")
		fx.Master(1).Delay(30 * time.Millisecond)
		fx.Master(2).Kill()
		synctest.Wait()
		in, err := fx.m.Inspect(t.Context(), "k")
		if err != nil {
			t.Fatalf("Inspect = %v", err)
		}
		if v := in.Views[1]; v.Holder != hold.Owner() || v.Count != 1 || v.Token != hold.Token() || v.Left <= 9*time.Second || v.Err != nil {
			t.Errorf("view of m2 = %+v", v)
		}
		if v := in.Views[2]; v.Err == nil || v.Master != "m3" {
			t.Errorf("view of m3 = %+v, want its error", v)
		}
		if in.Holder != hold.Owner() || in.Left < 9*time.Second {
			t.Errorf("Inspect = %+v, want %s for 10s", in, hold.Owner())
		}
		fx.Master(0).Kill()
		if _, err := fx.m.Inspect(t.Context(), "k"); !errors.Is(err, ErrNoQuorum) {
			t.Errorf("Inspect with one master of three = %v, want ErrNoQuorum", err)
		}
	})
}

// An Inspect that is cut short says what it knows, and that is frozen: later answers change nothing.
func TestInspectCutShort(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.take(t, fx.m, "k")
		fx.Master(1).Delay(30 * time.Millisecond)
		fx.Master(2).Delay(30 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		in, err := fx.m.Inspect(ctx, "k")
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNoQuorum) || in.Views[0].Err != nil || in.Views[1].Err == nil || in.Holder != "" {
			t.Errorf("Inspect = %+v, %v, want DeadlineExceeded, with what m1 says", in, err)
		}
		time.Sleep(time.Second)
	})
}

// Answers that settle a question count, also where ctx ends at the same moment.
func TestPollThatIsSettledWhenItIsCut(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		p := &poll{over: true, done: closedChan}
		if _, cut := p.wait(ctx); cut != nil {
			t.Fatalf("wait = %v, want nil", cut)
		}
	}
}

func TestForce(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		if freed, err := fx.m.Force(t.Context(), "k"); freed || err != nil {
			t.Errorf("Force of a free lock = %v, %v", freed, err)
		}
		hold := fx.take(t, fx.m, "k")
		fx.Master(1).Kill()
		synctest.Wait()
		if freed, err := fx.m.Force(t.Context(), "k"); !freed || err != nil {
			t.Errorf("Force = %v, %v, want true", freed, err)
		}
		// Not repeated: whoever has the lock at m2 when that returns keeps it.
		fx.Master(1).RestartWithData()
		time.Sleep(2 * time.Second)
		fx.wantHolders(t, "k", "- "+hold.Owner()+" -")

		// A hold that was forced does not come back with a renewal.
		fx.Master(1).Del("k")
		if err := hold.Extend(t.Context(), entryOf(hold), lease); !errors.Is(err, ErrLost) {
			t.Errorf("Extend after Force = %v, want ErrLost", err)
		}
		fx.wantNothing(t, "then", fx.m)

		fx.Master(0).Kill()
		fx.Master(1).Kill()
		synctest.Wait()
		_, err := fx.m.Force(t.Context(), "k")
		if why, ok := errors.AsType[*MajorityError](err); !ok || !errors.Is(err, ErrNoQuorum) || why.Got != 1 || len(why.Nodes.Errors) != 2 {
			t.Errorf("Force with one master of three = %v, want ErrNoQuorum, 1 of 3, since nobody had it there", err)
		}
	})
}

// Ready waits for the guard, for a connection, for a steady clock; and goes back to nothing.
func TestReady(t *testing.T) {
	const silence = 18 * time.Second // of an idle client
	for _, tt := range []struct {
		name  string
		do    func(fx *fixture)
		heal  func(fx *fixture)
		limit time.Duration // after heal
		says  string
	}{
		{
			"dead", func(fx *fixture) { fx.Master(0).Kill(); fx.Master(1).Kill() },
			func(fx *fixture) { fx.Master(0).RestartWithData(); fx.Master(0).SetUptime(time.Hour) }, 12 * time.Second, "connection refused",
		},
		{"guarded", func(fx *fixture) { fx.Master(0).Restart(); fx.Master(1).Restart() }, func(*fixture) {}, 12 * time.Second, "restarted lately"},
		{"clock", func(fx *fixture) { fx.Master(0).Skew(time.Hour); fx.Master(1).Skew(time.Hour); time.Sleep(silence) }, func(*fixture) {}, time.Minute, "clock ran ahead"},
		{
			"loading", func(fx *fixture) {
				fx.Master(0).Refuse("LOADING x")
				fx.Master(1).Refuse("LOADING x")
				time.Sleep(silence)
			},
			func(fx *fixture) { fx.Master(0).Refuse(""); fx.Master(1).Refuse("") }, time.Second, "LOADING x",
		},
		{
			"replica", func(fx *fixture) { fx.Master(0).SetRole("slave"); fx.Master(1).SetRole("slave"); time.Sleep(silence) },
			func(fx *fixture) { fx.Master(1).SetRole("master") }, 13 * time.Second, "is a replica",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inGuardedBubble(t, 3, 10*time.Second, func(t *testing.T, fx *fixture) {
				if err := fx.m.Ready(t.Context()); err != nil {
					t.Fatalf("Ready at first = %v", err)
				}
				tt.do(fx)
				time.Sleep(3 * time.Second)
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
				defer cancel()
				start := time.Now()
				err := fx.m.Ready(ctx)
				why, ok := errors.AsType[*MajorityError](err)
				if took := time.Since(start); !ok || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, ErrNoQuorum) || took != 2*time.Second {
					t.Fatalf("Ready = %v after %v, want ErrNoQuorum when the deadline passes", err, took)
				}
				if why.Got != 1 || why.Op != "ready" || len(why.Nodes.Errors) != 2 || !strings.Contains(why.Nodes.Error(), tt.says) {
					t.Errorf("Ready = %v, want two masters, with %s", err, tt.says)
				}
				start = time.Now()
				tt.heal(fx)
				ctx, cancel = context.WithTimeout(t.Context(), tt.limit)
				defer cancel()
				if err := fx.m.Ready(ctx); err != nil || time.Since(start) >= tt.limit {
					t.Errorf("Ready = %v after %v, want nil before %v", err, time.Since(start), tt.limit)
				}
				if _, err := fx.try(t); err != nil {
					t.Errorf("Lock when ready = %v", err)
				}
			})
		})
	}
}

// Ready comes back at once with what does not pass by itself, and when the client is closed.
func TestReadyInVain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fx := &fixture{Fleet: redlocktest.Start(t, 3)}
		fx.each(func(m *redlocktest.Master) {
			m.Delay(10 * time.Millisecond)
			m.Password("secret")
		})
		m := fx.another(t)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		start := time.Now()
		err := m.Ready(ctx)
		if took := time.Since(start); err == nil || !strings.Contains(err.Error(), "NOAUTH") || took > timeout {
			t.Errorf("Ready of a client that connects = %v after %v, want NOAUTH as soon as the masters say so", err, took)
		}
	})
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		for _, m := range fx.Masters()[:2] {
			m.Password("secret")
			m.RestartWithData()
		}
		time.Sleep(time.Second)
		start := time.Now()
		err := fx.m.Ready(t.Context())
		if took := time.Since(start); !errors.Is(err, ErrNoQuorum) || !strings.Contains(err.Error(), "NOAUTH") || took > 0 {
			t.Errorf("Ready = %v after %v, want NOAUTH at once", err, took)
		}
	})
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.Master(0).Kill()
		fx.Master(1).Kill()
		time.Sleep(time.Second)
		time.AfterFunc(time.Second, func() { fx.m.Close() })
		start := time.Now()
		if err := fx.m.Ready(t.Context()); !errors.Is(err, ErrClosed) || time.Since(start) != time.Second {
			t.Errorf("Ready = %v after %v, want ErrClosed when the client is closed", err, time.Since(start))
		}
	})
}
