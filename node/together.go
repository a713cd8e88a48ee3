package node

import "example.com/redlock/node/script"

// Queue is Send of a command that others follow at once: it is not written before Flush is called, so
// that all are written together.
func (n *Node) Queue(cmd *script.Command, to Receiver, i int) {
	n.mu.Lock()
	c, why := n.acceptLocked(cmd, to, i)
	if c != nil {
		n.queue = append(n.queue, c)
	}
	n.mu.Unlock()
	if why != nil {
		to.Answer(i, script.Answer{Outcome: script.Unsent, Err: why})
	}
}

// Flush writes what is queued, or wakes the writer if that may not be done at once.
func (n *Node) Flush() {
	n.mu.Lock()
	if k := len(n.queue); k == 0 || k > maxBatch || n.closing || !n.canWriteDirectlyLocked() {
		n.mu.Unlock()
		n.wakeWriter()
		return
	}
	calls := append([]*call(nil), n.queue...)
	clear(n.queue)
	n.queue = n.queue[:0]
	n.writeAndUnlock(calls...)
}
