package server

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
)

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
		{"not reached", func(context.Context) (redis.Conn, error) { return nil, unreached }, FirstPatience},
		{"refused", func(context.Context) (redis.Conn, error) { return nil, net.ErrClosed }, FirstPatience},
	} {
		t.Run(tt.what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := at(&redis.Pool{DialContext: tt.dial})
				tries := FirstAttempts(timeout)
				for range 5 {
					begin := time.Now()
					_, err := s.Connect(t.Context(), tries.Patience)
					if took := time.Since(begin); err == nil || took > tries.Patience {
						t.Fatalf("Connect = %v after %v, want an error within %v", err, took, tries.Patience)
					}
					check.AtMost(t, tries.Failed(err), lastRetry*3/2, "the pause")
				}
				check.Equal(t, tries.Patience, tt.want, "the next attempt has")
			})
		})
	}
}

// The pauses of clients that try to connect at the same time spread.
func TestPausesSpread(t *testing.T) {
	seen := map[time.Duration]bool{}
	for range 100 {
		tries := FirstAttempts(timeout)
		pause := tries.Failed(errors.New("refused"))
		seen[pause] = true
		check.That(t, pause >= firstRetry/2 && pause < firstRetry*3/2, "the first pause is %v, want %v to %v", pause, firstRetry/2, firstRetry*3/2)
	}
	check.That(t, len(seen) >= 50, "100 clients pause for %d different times, want nearly 100", len(seen))
}
