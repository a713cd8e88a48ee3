package node

import (
	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// call is one command on its way.
type call struct {
	cmd *script.Command
	to  Receiver // nil: nobody waits for the answer, or it was given
	i   int

	number     uint64          // among all calls of the node, in the order of their Sends
	sent       clock.Instant   // while it waits: when it came
	withSource bool            // goes out as EVAL, with the script's source
	resent     bool            // the master had lost the script
	original   *script.Command // what cmd was before a release took part of it away; nil: the same
	guarded    bool            // goes out in the form for a guarded master
	withheld   error           // why it only enters the queue; nil: it does what was wanted
}

// maxFree bounds the calls that are kept for reuse.
const maxFree = 1024

func (n *Node) newCallLocked(cmd *script.Command, to Receiver, i int) *call {
	var c *call
	if last := len(n.free) - 1; last >= 0 {
		c, n.free = n.free[last], n.free[:last]
	} else {
		c = new(call)
	}
	n.calls++
	c.cmd, c.to, c.i, c.number = cmd, to, i, n.calls
	return c
}

// freeCallLocked keeps a call for reuse. It must be in no list any more.
func (n *Node) freeCallLocked(c *call) {
	if len(n.free) < maxFree {
		*c = call{} // so that it keeps nothing alive
		n.free = append(n.free, c)
	}
}

// delivery is an answer that is delivered once no lock is held, or something to tell then.
type delivery struct {
	to     Receiver
	i      int
	answer script.Answer
	tell   func() // nil: it is an answer
}

// answer appends a to due, unless nobody waits for it any more.
func (c *call) answer(due []delivery, a script.Answer) []delivery {
	if c.to == nil {
		return due
	}
	due = append(due, delivery{to: c.to, i: c.i, answer: a})
	c.to = nil
	return due
}

func deliver(due []delivery) {
	for _, d := range due {
		if d.tell != nil {
			d.tell()
		} else {
			d.to.Answer(d.i, d.answer)
		}
	}
}

// abandonLocked ends calls that the master has not answered. It appends a for each to due, and
// keeps the releases among them.
func (n *Node) abandonLocked(due []delivery, calls []*call, a script.Answer) []delivery {
	for _, c := range calls {
		if c.cmd.Repeats() {
			n.unacked.add(c)
		}
		due = c.answer(due, a)
		n.freeCallLocked(c)
	}
	return due
}

// fifo holds the calls in flight, in the order they were written.
type fifo struct {
	calls []*call
	head  int // calls[:head] were popped
}

func (f *fifo) len() int { return len(f.calls) - f.head }

func (f *fifo) all() []*call { return f.calls[f.head:] }

func (f *fifo) push(c *call) {
	if f.head > 32 && f.head > len(f.calls)/2 {
		n := copy(f.calls, f.calls[f.head:])
		clear(f.calls[n:])
		f.calls, f.head = f.calls[:n], 0
	}
	f.calls = append(f.calls, c)
}

func (f *fifo) pop() *call {
	c := f.calls[f.head]
	f.calls[f.head] = nil
	f.head++
	if f.head == len(f.calls) {
		f.calls, f.head = f.calls[:0], 0
	}
	return c
}

// drain empties f and returns what was in it.
func (f *fifo) drain() []*call {
	calls := f.all()
	*f = fifo{}
	return calls
}
