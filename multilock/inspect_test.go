package multilock

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/multilock/inspect"
	"example.com/redlock/multilock/poll"
)

// What the masters say of a lock, and of themselves.

// An Inspect that is cut short says what it knows, and that is frozen: later answers change nothing.
func TestInspectCutShort(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.take(t, fx.m, "k")
		fx.Master(1).Delay(30 * time.Millisecond)
		fx.Master(2).Delay(30 * time.Millisecond)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		in, err := inspect.Lock(ctx, fx.m.Clients, "k")
		if !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, poll.ErrNoQuorum) || in.Views[0].Err != nil || in.Views[1].Err == nil || in.Holder != "" {
			t.Errorf("Inspect = %+v, %v, want DeadlineExceeded, with what m1 says", in, err)
		}
		time.Sleep(time.Second)
	})
}

func TestForce(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		if freed, err := inspect.Force(t.Context(), fx.m.All, "k"); freed || err != nil {
			t.Errorf("Force of a free lock = %v, %v", freed, err)
		}
		hold := fx.take(t, fx.m, "k")
		fx.Master(1).Kill()
		synctest.Wait()
		if freed, err := inspect.Force(t.Context(), fx.m.All, "k"); !freed || err != nil {
			t.Errorf("Force = %v, %v, want true", freed, err)
		}
		// Not repeated: whoever has the lock at m2 when that returns keeps it.
		fx.Master(1).RestartWithData()
		time.Sleep(2 * time.Second)
		fx.wantHolders(t, "k", "- "+hold.Owner()+" -")

		// A hold that was forced does not come back with a renewal.
		fx.Master(1).Del("k")
		if err := hold.Extend(t.Context(), entryOf(hold), lease); !errors.Is(err, poll.ErrLost) {
			t.Errorf("Extend after Force = %v, want ErrLost", err)
		}
		fx.wantNothing(t, "then", fx.m)

		fx.Master(0).Kill()
		fx.Master(1).Kill()
		synctest.Wait()
		_, err := inspect.Force(t.Context(), fx.m.All, "k")
		if why, ok := errors.AsType[*poll.MajorityError](err); !ok || !errors.Is(err, poll.ErrNoQuorum) || why.Got != 1 || len(why.Nodes.Errors) != 2 {
			t.Errorf("Force with one master of three = %v, want ErrNoQuorum, 1 of 3, since nobody had it there", err)
		}
	})
}
