package multilock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/node"
	"example.com/redlock/redlocktest"
)

// Locking without waiting: one vote, and the roll-back of what it left.

func TestAGrantThatComesTooLateIsNone(t *testing.T) {
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.each(func(m *redlocktest.Master) { m.Delay(30 * time.Millisecond) })
		req := request("k")
		req.Lease = 60 * time.Millisecond
		_, err := fx.m.Lock(t.Context(), req)
		if !errors.Is(err, ErrNoQuorum) || !errors.Is(err, errLate) {
			t.Errorf("Lock for 60ms over 60ms = %v, want ErrNoQuorum and errLate", err)
		}
		time.Sleep(time.Second)
		fx.wantNothing(t, "a second later", fx.m)
	})
}

// A try that pauses after a split ends with its caller's context, and with the client.
func TestATryThatPausesIsCutShort(t *testing.T) {
	const slow = 40 * time.Millisecond
	for _, tt := range []struct {
		name string
		cut  func(m *Masters, c *call)
		want []error
	}{
		{"its context ends", func(_ *Masters, c *call) { c.cancel() }, []error{context.Canceled, ErrTaken}},
		{"the client is closed", func(m *Masters, _ *call) { go m.Close() }, []error{ErrClosed}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inBubble(t, 3, func(t *testing.T, fx *fixture) {
				fx.seat("x", time.Hour, 0)
				fx.seat("y", time.Hour, 1)
				fx.each(func(m *redlocktest.Master) { m.Delay(slow / 2) })
				m := fx.another(t)
				m.greet(t.Context())
				c := begin(t, m, request("k"))
				time.Sleep(slow) // the first round is answered, and the pause is a round trip
				synctest.Wait()
				start := time.Now()
				tt.cut(m, c)
				c.wantError(t, "at once", tt.want...)
				if took := c.at.Sub(start); took > 0 {
					t.Errorf("Lock returned after %v, want at once", took)
				}
				time.Sleep(time.Second)
				fx.wantHolders(t, "k", "x y -")
			})
		})
	}
}

// The error of a try that asked several times is made of the answers to its last round.
func TestATryIsJudgedByItsOwnAnswers(t *testing.T) {
	const slow = 40 * time.Millisecond
	inBubble(t, 3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Hour, 0)
		fx.seat("y", time.Hour, 1)
		fx.each(func(m *redlocktest.Master) { m.Delay(slow / 2) })
		m := fx.client(t, node.Config{Timeout: time.Second})
		m.greet(t.Context())
		c := begin(t, m, request("k"))
		time.Sleep(slow) // the first round is answered, and the pause takes three round trips at most
		synctest.Wait()
		fx.each((*redlocktest.Master).Freeze)
		time.Sleep(5 * slow)
		c.cancel()
		c.wantError(t, "in the second round", context.Canceled, ErrNoQuorum)
		if want := "m1: no answer yet; m2: no answer yet; m3: no answer yet"; !strings.HasSuffix(c.err.Error(), want) {
			t.Errorf("Lock = %v, want %s", c.err, want)
		}
	})
}
