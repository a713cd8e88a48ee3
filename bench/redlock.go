package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"example.com/redlock/node/script"
	"example.com/redlock/redlock"
	"github.com/gomodule/redigo/redis"
)

// ours is this library with its defaults, except that the restart guard is off: the masters have
// just started.
var ours = contender{
	name:    "redlock",
	masters: mastersN,
	open: func(addresses []string, t times) (client, error) {
		c, err := redlock.New(redlock.Config{Masters: addresses, Lease: t.lease, RestartGuard: -1, NodeTimeout: t.patience})
		return ourClient{c}, err
	},

	steps: ourSteps,

	// A lock takes one script call per master, and its release another. Each failed try takes at
	// least one more, so this is an upper bound where each client has one caller. Those of one client
	// share calls, which hides some.
	failed: func(used counters, locks int) float64 {
		return max(0, float64(used.scripts())/mastersN-2*float64(locks))
	},
}

type ourClient struct{ *redlock.Client }

func (c ourClient) Lock(ctx context.Context, name string) (hold, error) {
	return c.Client.Lock(ctx, name)
}

func (c ourClient) TryLock(ctx context.Context, name string) (hold, error) {
	return c.Client.TryLock(ctx, name)
}

// ourSteps has each lock taken by one client, awaited by another, handed over, renewed and released,
// with n steps in a call.
func ourSteps(names []string, n int) []step {
	const holder, waiter = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002"
	now := time.Now().UnixMicro()
	entry := func(i int, round uint64) script.QueueEntry {
		return script.QueueEntry{Round: round, Since: now, Lease: 2 * time.Second, Proposal: now + int64(i)}
	}
	first, next := make([]*script.Owner, len(names)), make([]*script.Owner, len(names))
	for i, name := range names {
		first[i], next[i] = script.NewOwner(name, fmt.Sprintf("%s:r%d", holder, i)), script.NewOwner(name, fmt.Sprintf("%s:r%d", waiter, i))
	}
	each := func(name string, want script.Outcome, command func(i int) *script.Command) step {
		commands := make([]*script.Command, len(names))
		for i := range commands {
			commands[i] = command(i)
		}
		return stepOf(name, n, want, commands)
	}
	handOff := each(stepRelease+" and hand-off", script.Done, func(i int) *script.Command { return first[i].Release(now+int64(i), now) })
	handOff.listen = script.HandOffChannel(waiter)
	return []step{
		each(stepAcquire, script.Done, func(i int) *script.Command { return first[i].AcquireOrRegister(lease, entry(i, 1)) }),
		each("ask of a new waiter", script.Refused, func(i int) *script.Command { return next[i].AcquireOrRegister(lease, entry(i, 1)) }),
		each("ask of one in the queue", script.Refused, func(i int) *script.Command { return next[i].AcquireOrRegister(lease, entry(i, 2)) }),
		handOff,
		each("renewal", script.Done, func(i int) *script.Command {
			return script.Renew(lease, []script.Renewal{{Owner: next[i], Count: 1, Token: now + int64(i) + 1}})
		}),
		each(stepRelease, script.Done, func(i int) *script.Command { return next[i].Release(now+int64(i)+1, now) }),
	}
}

// stepOf is a step of these commands, n in a call, each of which must have this outcome.
func stepOf(name string, n int, want script.Outcome, commands []*script.Command) step {
	s := step{name: name, each: n}
	for some := range slices.Chunk(commands, n) {
		var together script.Call
		for _, c := range some {
			together.Add(c, false)
		}
		if s.script == nil {
			s.script = redis.NewScript(-1, together.Arguments(true)[0].(string))
		}
		s.calls = append(s.calls, call{together.Arguments(false)[1:], func(reply any) error {
			replies, err := script.Split(nil, reply, len(some))
			if err != nil {
				return err
			}
			for i, c := range some {
				a := c.Decode(replies[i : i+1])
				if a.Outcome != want || slices.ContainsFunc(a.Renewed, func(r script.Renewed) bool { return r != script.Extended }) {
					return fmt.Errorf("answer = %+v, want %v", a, want)
				}
			}
			return nil
		}})
	}
	return s
}
