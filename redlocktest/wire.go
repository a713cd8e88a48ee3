package redlocktest

import (
	"context"
	"net"
	"slices"
	"time"
)

// A Wire is the network between one client and a master, beside the one that all clients of the master
// share ([Master.Cut], [Master.Delay]). What is done to both adds up.
type Wire struct {
	master *Master

	// Guarded by master.mu.
	there, back bool          // cut
	mended      chan struct{} // closed when the wire is whole again; nil while it is
	lag         func() time.Duration
	links       []*link
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
	w.there, w.back = there, back
	whole := !there && !back
	if !whole && w.mended == nil {
		w.mended = make(chan struct{})
	}
	if whole && w.mended != nil {
		close(w.mended)
		w.mended = nil
	}
	for _, l := range w.links {
		l.cutWire(there, back)
	}
}

// Lag asks lag, for each thing that is sent from now on, how long it takes beside what Delay says: for
// jitter, or for packets that are lost and sent again. lag must not wait. Bytes arrive in order all the
// same. A nil lag ends that.
func (w *Wire) Lag(lag func() time.Duration) {
	w.master.mu.Lock()
	defer w.master.mu.Unlock()
	w.lag = lag
	for _, l := range w.links {
		l.setLag(lag)
	}
}

// Reset ends all connections, as RST does: both ends notice at once, and what they have not read is lost.
func (w *Wire) Reset() {
	w.master.mu.Lock()
	defer w.master.mu.Unlock()
	for _, l := range w.links {
		l.reset()
	}
}

// addLocked makes l run over the wire. The caller holds master.mu.
func (w *Wire) addLocked(l *link) {
	w.links = append(slices.DeleteFunc(w.links, (*link).closed), l)
	l.lag, l.up.cut, l.down.cut = w.lag, w.there, w.back
}
