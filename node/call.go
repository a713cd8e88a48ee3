package node

import (
	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// call is one command on its way.
type call struct {
	cmd *script.Command
	to  Receiver // nil: nobody waits for the answer, or it was given

	number   uint64        // among all calls of the node, in the order of their Sends
	sent     clock.Instant // while it waits: when it came; of a release that is kept: from when
	withheld error         // why it only enters the queue; nil: it does what was wanted

	// mayStillRun, of a release: a command of its owner was in flight when a connection broke, and the master may still run
	// that, however late.
	mayStillRun bool
}

func (n *Node) newCallLocked(cmd *script.Command, to Receiver) call {
	n.calls++
	return call{cmd: cmd, to: to, number: n.calls}
}

// delivery is an answer, or an event for the observer, that is delivered once no mutex is held.
type delivery struct {
	to     Receiver
	answer script.Answer
	tell   func() // nil: it is an answer
}

// answer appends a to due, unless nobody waits for it any more.
func (c *call) answer(due []delivery, a script.Answer) []delivery {
	if c.to == nil {
		return due
	}
	due = append(due, delivery{to: c.to, answer: a})
	c.to = nil
	return due
}

func (n *Node) deliver(due []delivery) {
	for _, d := range due {
		if d.tell != nil {
			d.tell()
		} else {
			d.to.Answer(n.cfg.Index, d.answer)
		}
	}
}

// abandonLocked ends calls that the master has not answered. It appends a for each to due, and
// keeps the releases among them.
func (n *Node) abandonLocked(due []delivery, calls []call, a script.Answer) []delivery {
	for i := range calls {
		c := &calls[i]
		if c.cmd.Repeats() {
			n.unacked.add(c)
		}
		due = c.answer(due, a)
	}
	return due
}
