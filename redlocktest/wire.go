package redlocktest

import (
	"context"
	"net"
	"slices"
	"sync/atomic"
	"time"

	"example.com/redlock/internal/link"
)

// A Wire is the network between one client and a master. What is done to it adds to what is done to the network that all
// clients of the master share ([Master.Cut], [Master.Delay]). A client uses wires by its
// Config.Dial:
//
//	for _, m := range fleet.Masters() {
//		cfg.Masters = append(cfg.Masters, m.Name())
//		wires[m.Name()+":6379"] = m.Wire()
//	}
//	cfg.Dial = func(ctx context.Context, _, address string) (net.Conn, error) {
//		return wires[address].Dial(ctx)
//	}
type Wire struct {
	master  *Master
	network network // guarded by master.mu
	lag     atomic.Pointer[func() time.Duration]
}

// Wire returns a new wire to the master. It is whole, and takes no time.
func (m *Master) Wire() *Wire { return &Wire{master: m} }

// Dial is [Master.Dial] over the wire.
func (w *Wire) Dial(ctx context.Context) (net.Conn, error) { return w.master.dialOver(ctx, w) }

// Cut makes nothing arrive any more at the master, at the client, or at either. What is in transit waits,
// and so do new dials, until Cut(false, false) mends the wire.
func (w *Wire) Cut(there, back bool) {
	w.master.mu.Lock()
	defer w.master.mu.Unlock()
	w.network.cutLocked(there, back)
}

// Lag makes each thing that is sent from now on take as much longer than Delay says as lag returns: for jitter, or for
// packets that are lost and sent again. Bytes still arrive in order. lag must not wait; a nil lag ends that.
func (w *Wire) Lag(lag func() time.Duration) { w.lag.Store(&lag) }

// takes returns how long what is sent now is on its way.
func (w *Wire) takes() time.Duration {
	d := time.Duration(w.master.delay.Load())
	if lag := w.lag.Load(); lag != nil && *lag != nil {
		d += (*lag)()
	}
	return d
}

// Reset ends all connections, as RST does: both ends notice at once, and what they have not read is lost.
func (w *Wire) Reset() {
	w.master.mu.Lock()
	defer w.master.mu.Unlock()
	for _, l := range w.network.links {
		l.Reset()
	}
}

// A network is what links run over: those of all clients of a master, or of one of them. It is guarded by
// the master's mu.
type network struct {
	there, back bool          // cut
	mended      chan struct{} // closed when the network is whole again; nil while it is
	links       []*link.Link  // in the order in which they were made, so that what becomes of them has an order
}

// cutLocked cuts the links in these directions, and mends them in the others.
func (n *network) cutLocked(there, back bool) {
	up, down := btoi(there)-btoi(n.there), btoi(back)-btoi(n.back)
	n.there, n.back = there, back
	whole := !there && !back
	if !whole && n.mended == nil {
		n.mended = make(chan struct{})
	}
	if whole && n.mended != nil {
		close(n.mended)
		n.mended = nil
	}
	for _, l := range n.links {
		l.Cut(up, down)
	}
}

// addLocked makes l run over the network.
func (n *network) addLocked(l *link.Link) {
	n.links = append(slices.DeleteFunc(n.links, (*link.Link).Closed), l)
	l.Cut(btoi(n.there), btoi(n.back))
}
