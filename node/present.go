package node

import (
	"math/rand/v2"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// Note is a command by which a client tells a master of itself, or asks it of others. No lock depends
// on what becomes of it.
type Note struct {
	Cmd *script.Command
	To  Receiver
}

// noteEvery is how old notes are, at least, when new ones are sent. They are at most longSilence old,
// and a beat.
const noteEvery = longSilence * 2 / 3

// Present has the node send the notes that compose returns: soon after each new connection, and then
// every 12 to 18 s, behind the checks and in the same write, so that no caller waits for them. Answers
// name the master i. It ends with a nil compose.
func (n *Node) Present(i int, compose func(i int) []Note) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.place, n.compose = i, compose
	if l := n.link; l != nil {
		l.notes = nil
		l.beat.Reset(n.firstBeatLocked())
	}
}

// Noted tells the node that notes were sent just now, by Send.
func (n *Node) Noted() {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.link; l != nil {
		l.noted = clock.Now()
	}
}

// firstBeatLocked returns when the first beat of a new connection is due. Those of clients that start
// together spread.
func (n *Node) firstBeatLocked() time.Duration {
	if n.compose == nil {
		return heartbeat
	}
	return heartbeat/20 + rand.N(heartbeat/10)
}

// notes returns what is to be sent to the master, nil if that is not due.
func (n *Node) notes(l *link) []Note {
	n.mu.Lock()
	i, compose := n.place, n.compose
	due := n.link == l && clock.Now().Sub(l.noted) >= noteEvery
	n.mu.Unlock()
	if compose == nil || !due {
		return nil
	}
	return compose(i) // without n.mu: it takes the client's mutexes
}

// notesLeft returns how long the notes may wait for checks to go along with.
func (n *Node) notesLeftLocked(l *link, now clock.Instant) time.Duration {
	if n.compose == nil {
		return longSilence
	}
	return now.Left(l.noted.Add(longSilence))
}

// putNotesLastLocked puts the notes that are due behind batch, to be sent now.
func (n *Node) putNotesLastLocked(l *link, batch []*call, now clock.Instant) []*call {
	if len(l.notes) == 0 || n.closing {
		return batch
	}
	for _, note := range l.notes {
		batch = append(batch, n.newCallLocked(note.Cmd, note.To, n.place))
	}
	l.notes, l.noted = nil, now
	return batch
}

// Process returns the run id of the process that the master is, and since when it has been one, as far
// as it says; an empty id while the master is not up.
func (n *Node) Process() (run string, since clock.Instant) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.state != up || n.link.err != nil {
		return "", since
	}
	return n.link.id.run, n.link.began
}

// Met reports whether the master is up, or down: the first attempt to connect is over.
func (n *Node) Met() bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.state != connecting
}
