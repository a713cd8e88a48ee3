package multilock

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktest"
)

// Locking without waiting: one vote, and the roll-back of what it left.

func TestAGrantThatComesTooLateIsNone(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.each(func(m *redlocktest.Master) { m.Delay(30 * time.Millisecond) })
		req := request("k")
		req.Lease = 60 * time.Millisecond
		fx.wantRefused(t, req, poll.ErrNoQuorum, errLate)
		d := asked(fx.m)
		time.Sleep(lease) // in which nobody takes it
		check.Err(t, "what was taken too late", d.reason(nil), poll.ErrNoQuorum, errLate)
		time.Sleep(time.Second)
		fx.wantNothing(t, "a second later", fx.m)
	})(t)
}

// The error of a try that was refused counts the masters that granted it, also those that did so before others refused.
func TestAnErrorCountsGrants(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Minute, 1, 2)
		fx.each(func(m *redlocktest.Master) { m.Delay(time.Millisecond) }, 1, 2)
		why, _ := errors.AsType[*poll.MajorityError](fx.wantRefused(t, request("k"), poll.ErrTaken))
		check.Equal(t, why.Got, 1, "masters that granted it")
	})(t)
}

// A caller that gives up while its client is cut off, and established no more, says what it waited for.
func TestACallerThatIsCutOffSaysWhyItWaits(t *testing.T) {
	bubble(3, func(t *testing.T, fx *fixture) {
		fx.seat("x", time.Minute, 0, 1, 2)
		c := begin(t, fx.introduced(t), patient("k"))
		fx.each((*redlocktest.Master).Kill)
		rest(5 * time.Second)
		c.cancel()
		c.wantError(t, "then", context.Canceled, poll.ErrNoQuorum)
		check.NotErr(t, "Lock", c.err, poll.ErrTaken)
	})(t)
}

// A try that asks several times, since votes are split, ends with its caller's context, and with the client. Its
// error is made of the answers to its last round.
func TestATryThatAsksAgainIsCutShort(t *testing.T) {
	const slow = 40 * time.Millisecond
	for _, tt := range []struct {
		name string
		cut  func(fx *fixture, m *Masters, c *call)
		want []error
		text string
	}{
		{"while it pauses", func(_ *fixture, _ *Masters, c *call) { c.cancel() }, []error{context.Canceled, poll.ErrTaken}, ""},
		{"in the second round", func(fx *fixture, _ *Masters, c *call) {
			fx.each((*redlocktest.Master).Freeze)
			time.Sleep(5 * slow) // the pause takes three round trips at most
			c.cancel()
		}, []error{context.Canceled, poll.ErrNoQuorum}, "m1: no answer yet; m2: no answer yet; m3: no answer yet"},
		{"the client is closed", func(_ *fixture, m *Masters, _ *call) { go m.Close() }, []error{poll.ErrClosed}, poll.ErrClosed.Error()},
	} {
		t.Run(tt.name, bubble(3, func(t *testing.T, fx *fixture) {
			fx.seat("x", time.Hour, 0)
			fx.seat("y", time.Hour, 1)
			fx.each(func(m *redlocktest.Master) { m.Delay(slow / 2) })
			m := fx.client(t, node.Config{Timeout: time.Second})
			m.All.Greet(t.Context())
			c := begin(t, m, request("k"))
			time.Sleep(slow) // the first round is answered, and the pause is a round trip at least
			synctest.Wait()
			tt.cut(fx, m, c)
			c.wantError(t, "at once", tt.want...)
			took := time.Since(c.at)
			check.That(t, took <= 0 && strings.HasSuffix(c.err.Error(), tt.text), "Lock = %v, %v ago, want it at once, and %q", c.err, took, tt.text)
			fx.each((*redlocktest.Master).Thaw)
			time.Sleep(time.Second)
			fx.wantHolders(t, "k", "x y -")
		}))
	}
}

// What comes late in answer to an owner that was given up is none to the next: the error of the second try names the
// master that has not answered that.
func TestALateAnswerToAnEarlierTry(t *testing.T) {
	const slow, last = 40 * time.Millisecond, 6 * 40 * time.Millisecond
	bubble(5, func(t *testing.T, fx *fixture) {
		for i, owner := range []string{"w", "x", "y", "z"} {
			fx.seat(owner, time.Hour, i)
			fx.Master(i).Delay(slow / 2)
		}
		m := fx.client(t, node.Config{Timeout: time.Second})
		m.All.Greet(t.Context())
		fx.Master(4).Delay(last / 2)
		c := begin(t, m, request("k"))
		time.Sleep(slow) // four are answered, and the votes are split, whatever the last says
		fx.each((*redlocktest.Master).Freeze, 0, 1, 2, 3)
		time.Sleep(last) // its answer to the first round has come, and none to the second
		c.cancel()
		c.wantError(t, "in the second round", context.Canceled, poll.ErrNoQuorum)
		check.Says(t, c.err, "m5: no answer yet", "Lock")
		fx.each((*redlocktest.Master).Thaw)
		time.Sleep(time.Second)
		fx.wantHolders(t, "k", "w x y z -")
	})(t)
}

// What a caller is told of the answers: it is taken where somebody has it, guarded where it is known when a majority grants,
// and else there is no quorum.
func TestWhyAVoteIsLost(t *testing.T) {
	guarded := func(why error) script.Answer {
		return script.Answer{Outcome: script.Unsent, Err: &server.GuardedError{Left: time.Minute, Why: why}}
	}
	for name, tt := range map[string]struct {
		says      script.Answer // two masters of three
		cut, want error
		guard     time.Duration
	}{
		"taken":                          {script.Answer{Outcome: script.Refused, Holder: id("x")}, nil, poll.ErrTaken, 0},
		"taken, and cut short":           {script.Answer{Outcome: script.Refused, Holder: id("x")}, context.Canceled, poll.ErrTaken, 0},
		"granted, and cut short":         {script.Answer{Outcome: script.Done}, context.Canceled, poll.ErrNoQuorum, 0},
		"guarded":                        {guarded(nil), nil, poll.ErrGuarded, time.Minute},
		"guarded, nobody knows how long": {guarded(errors.New("INFO is refused")), nil, poll.ErrNoQuorum, 0},
	} {
		t.Run(name, bubble(3, func(t *testing.T, fx *fixture) {
			b := poll.Ballot{N: 3}
			b.Put(0, tt.says)
			b.Put(1, tt.says)
			why := fx.m.All.Refused("lock", "k", &b, tt.cut)
			check.Err(t, "why", why, tt.want)
			check.That(t, errors.Is(why, poll.ErrTaken) == (tt.want == poll.ErrTaken), "why = %v, want it taken only if somebody has it", why)
			check.Equal(t, why.Guard, tt.guard, "until a majority grants")
		}))
	}
}
