package node

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"
)

// A limit passes in the time in which this process runs: a step that ends late does not count, but no more
// than so many are forgiven.
func TestAwake(t *testing.T) {
	const limit = 8 * time.Second
	for _, tt := range []struct {
		late int // of the steps
		want time.Duration
	}{{0, limit}, {1, limit * 5 / 4}, {4, 2 * limit}, {100, 2 * limit}} {
		synctest.Test(t, func(t *testing.T) {
			ended := make(chan time.Duration, 1)
			begin := time.Now()
			a := afterAwake(limit, func() { ended <- time.Since(begin) })
			for range tt.late {
				a.mu.Lock()
				a.due = a.due.Add(-time.Minute)
				a.mu.Unlock()
				time.Sleep(limit / awakeSteps)
				synctest.Wait()
			}
			if got := <-ended; got != tt.want {
				t.Errorf("with %d late steps it ended after %v, want %v", tt.late, got, tt.want)
			}
			if err := errors.New("cut"); a.why(err) != ErrTimeout || a.why(nil) != nil {
				t.Errorf("why = %v and %v, want %v and no reason for what went well", a.why(err), a.why(nil), ErrTimeout)
			}
		})
	}
}

// A limit that was stopped does not end.
func TestAwakeStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := afterAwake(time.Second, func() { t.Error("it ended") })
		time.Sleep(time.Second / 2)
		a.stop()
		time.Sleep(time.Minute)
		if err := errors.New("cut"); a.why(err) != err {
			t.Errorf("why = %v, want %v", a.why(err), err)
		}
	})
}

// An attempt that a server accepts and does not finish in time has the next one take longer. One that does
// not reach it, or is refused, does not.
func TestPatience(t *testing.T) {
	unreached := &net.OpError{Op: "dial", Err: context.DeadlineExceeded}
	for _, tt := range []struct {
		what string
		dial func(context.Context) (redis.Conn, error)
		want time.Duration
	}{
		{"accepted, and not finished", func(ctx context.Context) (redis.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}, lastPatience},
		{"not reached", func(context.Context) (redis.Conn, error) { return nil, unreached }, firstPatience},
		{"refused", func(context.Context) (redis.Conn, error) { return nil, net.ErrClosed }, firstPatience},
	} {
		t.Run(tt.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				n := &Node{cfg: Config{Pool: &redis.Pool{DialContext: tt.dial}, Timeout: timeout}}
				tries := newAttempts()
				for range 5 {
					begin := time.Now()
					_, err := n.borrow(t.Context(), tries.patience)
					if took := time.Since(begin); err == nil || took > tries.patience {
						t.Fatalf("borrow = %v after %v, want an error within %v", err, took, tries.patience)
					}
					if pause := tries.failed(err); pause > lastRetry*3/2 {
						t.Errorf("a pause of %v, want at most %v", pause, lastRetry*3/2)
					}
				}
				if tries.patience != tt.want {
					t.Errorf("the next attempt has %v, want %v", tries.patience, tt.want)
				}
			})
		})
	}
}
