package multilock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-multierror"

	"example.com/redlock/multilock/protocol"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// What errors say, and why a lock has not been got yet.

func TestMajorityErrorNamesEveryMasterThatDidNotSayYes(t *testing.T) {
	inBubble(t, 5, func(t *testing.T, fx *fixture) {
		fx.Master(0).Kill()
		fx.Master(1).Freeze()
		fx.Master(2).HSet("k", id("b"), "1")
		fx.Master(3).Set("k", "not a lock")
		_, err := fx.try(t)
		why, ok := errors.AsType[*MajorityError](err)
		if !ok {
			t.Fatalf("Lock = %v, want a *MajorityError", err)
		}
		if why.Got != 1 || why.Need != 3 || why.Of != 5 || why.Op != "lock" || why.Name != "k" {
			t.Errorf("%s %q: %d of %d, %d needed; want lock \"k\": 1 of 5, 3", why.Op, why.Name, why.Got, why.Of, why.Need)
		}
		for i, want := range []string{"m1: ", "m2: no answer", "m3: held by " + id("b") + ", without expiry", "m4: the key is no lock: it holds a string"} {
			if got := why.Nodes.Errors[i].Error(); !strings.HasPrefix(got, want) {
				t.Errorf("Nodes[%d] = %q, want %q…", i, got, want)
			}
		}
		if len(why.Nodes.Errors) != 4 {
			t.Errorf("%d entries, want 4: %v", len(why.Nodes.Errors), err)
		}
		if !errors.Is(err, node.ErrTimeout) {
			t.Errorf("%v does not match the timeout of m2", err)
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%q has more than one line", err)
		}
		for _, err := range []error{err, why.With(context.Canceled)} {
			if !strings.HasPrefix(err.Error(), "redlock: ") {
				t.Errorf("%q does not say whose error it is", err)
			}
		}
	})
}

func TestFreeAfter(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.seat("x", 9*time.Second, 0)
		fx.seat("y", 4*time.Second, 1)
		fx.seat("z", 6*time.Second, 2)
		fx.each(func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
		c := newQuiet(fx.m)
		c.start()
		time.Sleep(time.Second)
		why := c.reason(nil)
		if why == nil {
			t.Fatal("reason = nil, want why it is not won")
		}
		if free, ok := why.FreeAfter(); free != 6*time.Second-time.Millisecond || !ok {
			t.Errorf("FreeAfter = %v, %v, want 6s less the way there", free, ok)
		}
		c.giveUp(nil)
	})
}

// A decided vote names no master that was not waited for; one that was cut short names those that have
// not answered.
func TestWhoWasNotWaitedFor(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Minute, 0, 1)
		fx.Master(2).Delay(timeout / 4)
		_, err := fx.try(t)
		if why, ok := errors.AsType[*MajorityError](err); !ok || len(why.Nodes.Errors) != 2 || !errors.Is(err, ErrTaken) {
			t.Errorf("Lock = %v, want ErrTaken and two masters", err)
		}
		fx.Master(0).Freeze()
		fx.Master(1).Freeze()
		ctx, cancel := context.WithTimeout(t.Context(), timeout*3/4)
		defer cancel()
		_, err = fx.m.Lock(ctx, request("k"))
		why, ok := errors.AsType[*MajorityError](err)
		if !ok || !errors.Is(err, ErrNoQuorum) || why.Nodes.Error() != "m1: no answer yet; m2: no answer yet" {
			t.Errorf("Lock = %v, want ErrNoQuorum, m1 and m2", err)
		}
	})
}

// What a master that nobody waited for is known to lack is a reason as well, where too few answered.
func TestWhatIsKnownIsSaid(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.each((*redlocktest.Master).Kill)
		time.Sleep(time.Second)
		_, err := fx.try(t)
		if why, ok := errors.AsType[*MajorityError](err); !ok || len(why.Nodes.Errors) != 3 {
			t.Errorf("Lock = %v, want three masters that are down", err)
		}
	})
}

// A fresh fleet is told from an outage, and the error says how long it takes.
func TestGuarded(t *testing.T) {
	for _, tt := range []struct {
		name string
		do   func(fx *fixture)
		want time.Duration // 0: not guarded
	}{
		{"all restarted", func(fx *fixture) {
			fx.Master(0).Restart()
			fx.Master(1).Restart()
			time.Sleep(4 * time.Second)
			fx.Master(2).Restart()
		}, 6 * time.Second},
		{"one restarted, one is dead", func(fx *fixture) { fx.Master(0).Restart(); fx.Master(1).Kill() }, 10 * time.Second},
		{"one restarted, one has another holder", func(fx *fixture) {
			fx.Master(0).Restart()
			fx.Master(1).Kill()
			fx.seat("x", time.Minute, 2)
		}, 10 * time.Second},
		{"one restarted, two are dead", func(fx *fixture) { fx.Master(0).Restart(); fx.Master(1).Kill(); fx.Master(2).Kill() }, 0},
		{"two are dead", func(fx *fixture) { fx.Master(0).Kill(); fx.Master(1).Kill() }, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inGuardedBubble(t, 3, 10*time.Second, func(t *testing.T, fx *fixture) {
				tt.do(fx)
				time.Sleep(time.Second)
				_, err := fx.try(t)
				why, ok := errors.AsType[*MajorityError](err)
				if !ok || !errors.Is(err, ErrNoQuorum) || errors.Is(err, ErrGuarded) != (tt.want > 0) {
					t.Fatalf("Lock = %v, want ErrNoQuorum, and ErrGuarded: %v", err, tt.want > 0)
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

// Why a lock has not been got yet: nothing is said before it is known, unless the caller waits no longer.
func TestReason(t *testing.T) {
	cut := context.DeadlineExceeded
	askedNow := func(m *Masters) *contest {
		c := newQuiet(m)
		c.start()
		return c
	}
	for _, tt := range []struct {
		name    string
		contest func(fx *fixture) *contest
		cut     error
		want    error // nil: none
		split   bool
	}{
		{"nothing asked", func(fx *fixture) *contest { return newQuiet(fx.m) }, cut, nil, false},
		{"no answer yet", func(fx *fixture) *contest {
			fx.each(func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
			return askedNow(fx.m)
		}, nil, nil, false},
		{"no answer yet, and no time", func(fx *fixture) *contest {
			fx.each(func(m *redlocktest.Master) { m.Delay(time.Millisecond) })
			return askedNow(fx.m)
		}, cut, ErrNoQuorum, false},
		{"taken", func(fx *fixture) *contest {
			fx.seat("x", time.Minute, 0, 1, 2)
			return askedQuiet(fx.m)
		}, nil, ErrTaken, false},
		{"taken, and no time", func(fx *fixture) *contest {
			fx.seat("x", time.Minute, 0, 1, 2)
			return askedQuiet(fx.m)
		}, cut, ErrTaken, false},
		{"two owners", func(fx *fixture) *contest {
			fx.seat("x", time.Minute, 0)
			fx.seat("y", time.Minute, 1)
			return askedQuiet(fx.m)
		}, nil, ErrTaken, true},
		{"a majority is dead", func(fx *fixture) *contest {
			fx.Master(0).Kill()
			fx.Master(1).Kill()
			c := askedNow(fx.m)
			time.Sleep(time.Second)
			return c
		}, nil, ErrNoQuorum, false},
		{"a majority is frozen, and no time", func(fx *fixture) *contest {
			fx.Master(0).Freeze()
			fx.Master(1).Freeze()
			c := askedNow(fx.m)
			time.Sleep(timeout / 2)
			return c
		}, cut, ErrNoQuorum, false},
		{"entered by a release", func(fx *fixture) *contest {
			c := newQuiet(fx.m)
			fx.m.releaseTo(Claim{Owner: script.NewOwner("k", fx.m.owners.make(nil)), At: 7}, c)
			synctest.Wait()
			return c
		}, cut, nil, false},
		{"won", func(fx *fixture) *contest { return askedQuiet(fx.m) }, cut, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				c := tt.contest(fx)
				defer c.giveUp(nil)
				err := c.reason(tt.cut)
				if tt.want == nil {
					if err != nil {
						t.Errorf("reason(%v) = %v, want nil", tt.cut, err)
					}
					return
				}
				if err == nil || !errors.Is(err, tt.want) || errors.Is(err, cut) != (tt.cut != nil) || err.Split() != tt.split {
					t.Errorf("reason(%v) = %v, want %v, split %v", tt.cut, err, tt.want, tt.split)
				}
			})
		})
	}
}

// A caller that is not the first says what the first one waits for, and one behind a hold of the client says
// that.
func TestReasonOfACallerThatIsNotTheFirst(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Hour, 0, 1, 2)
		begin(t, fx.m, patient("k"))
		time.Sleep(time.Second)
		behind := begin(t, fx.m, patient("k"))
		time.Sleep(time.Second)
		behind.cancel()
		behind.wantError(t, "behind one that waits", context.Canceled, ErrTaken)
		if !strings.Contains(behind.err.Error(), id("x")) {
			t.Errorf("Lock = %v, want who has it", behind.err)
		}
		fx.each((*redlocktest.Master).Kill)
		time.Sleep(2 * time.Second)
		behind = begin(t, fx.m, patient("k"))
		behind.cancel()
		behind.wantError(t, "in an outage", context.Canceled, ErrNoQuorum)
	})
}

// The outcomes of commands have the same order in the protocol, which counts them as they are.
func TestOutcomes(t *testing.T) {
	for sent, want := range map[script.Outcome]protocol.Outcome{
		script.Unsent: protocol.Unsent, script.Unknown: protocol.Unknown, script.Failed: protocol.Errored,
		script.Refused: protocol.No, script.Done: protocol.Yes,
	} {
		if got := outcome(script.Answer{Outcome: sent}); got != want {
			t.Errorf("outcome of %v = %v, want %v", sent, got, want)
		}
	}
}
