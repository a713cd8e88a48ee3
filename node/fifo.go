package node

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
