package multilock

import (
	"context"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node"
	"example.com/redlock/quorum"
)

// Now returns what time it is by the masters' clocks: the median of what they show, or our
// own clock as long as none has told. The stamps of those who wait and the fencing tokens
// that are proposed are read off it, so they depend neither on the clocks of clients nor on
// those of a minority of the masters.
func (m *Masters) Now() time.Time {
	now := clock.Now()
	var room [Max]int64
	shown := room[:0]
	for _, n := range m.nodes {
		if t, ok := n.Time(now); ok {
			shown = append(shown, t.UnixMicro())
		}
	}
	if len(shown) == 0 {
		return time.Now()
	}
	slices.Sort(shown)
	return time.UnixMicro(shown[(len(shown)-1)/2])
}

// Greet waits until a majority of the masters has told its time, for about the node timeout at
// most. It is for the first command of a client, which may not have connected yet: the
// command itself would wait for that as well.
//
// Cost: nothing once they have told or refused to, else one round trip to the q-th fastest.
func (m *Masters) Greet(ctx context.Context) {
	if m.greeted.Load() {
		return
	}
	g := new(greeting)
	g.init(nil, len(m.nodes), g)
	m.send(node.AskTime, m.All(), g)
	if g.wait(ctx) == nil && g.answered() == quorum.Won {
		m.greeted.Store(true)
	}
}

// greeting is a poll for the time.
type greeting struct {
	poll
}

func (g *greeting) answered() quorum.Result {
	done, refused, failed := g.tally()
	return quorum.Vote(len(g.answers), done, refused+failed)
}

func (g *greeting) decided() bool { return g.answered() != quorum.Pending }
