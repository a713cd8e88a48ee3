package node

import (
	"math/rand/v2"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// Activity is what a client does with its masters. It says how often they are checked while the client sends nothing: does the
// connection work, and can the master write to its disk; what time is it there; is it a master, and has it been one all the
// time? See docs/design/masters.md, "Checks".
type Activity uint8

const (
	// Holding: something is held, and its holder must hear of a clock that has jumped or a
	// master that was replaced. Checks go out each second.
	Holding Activity = iota

	// Waiting: something is asked for, and nothing held. Checks go along with the requests, and
	// alone after three seconds, since a hand-off may come to a client that does not ask meanwhile.
	Waiting

	// Idle: neither. Checks go out after 12 to 18 seconds, so that routers and the master see a
	// connection in use, and so that it is known before the next command whether it is one.
	Idle
)

const (
	heartbeat   = time.Second      // between checks, while commands are sent or something is held
	waitingBeat = 3 * heartbeat    // at most, while the client waits
	longSilence = 18 * time.Second // at most, while it is idle
)

// drawSilence draws when the next beat of an idle connection is due, so that those of many clients
// spread.
//
// It is at most a lease. A clock may jump unnoticed by the drift that is allowed for the length of a silence, see [clockCheck].
// A lease that is as long has that drift deducted from its validity. A shorter one may have ended early, and the master
// would be trusted with the next vote.
func (n *Node) drawSilence() time.Duration {
	longest := n.longestSilence()
	return longest*2/3 + rand.N(longest/3)
}

func (n *Node) longestSilence() time.Duration {
	if n.cfg.Lease > 0 {
		return min(max(n.cfg.Lease, heartbeat), longSilence)
	}
	return longSilence
}

// putChecksFirstLocked puts the checks in front of batch, to be sent now.
func (n *Node) putChecksFirstLocked(l *link, batch []call, now clock.Instant) []call {
	var first [len(checks)]call
	for i, cmd := range checks {
		first[i] = n.newCallLocked(cmd, nil)
	}
	l.checked, l.silence, l.beatDue = now, n.drawSilence(), false
	l.beat.Reset(heartbeat)
	return slices.Insert(batch, 0, first[:]...)
}

// beat sends the checks if the client needs them now or has notes to send. Otherwise it sets when to look again.
func (n *Node) beat(l *link) {
	n.mu.Lock()
	to, compose := n.observer, n.compose
	due := compose != nil && n.link == l && clock.Until(l.notesDue) <= 0
	n.mu.Unlock()
	does := Holding
	if to != nil {
		does = to.Activity() // without n.mu: it takes the client's mutexes, and so does compose
	}
	var notes []Note
	if due {
		notes = compose(n.cfg.Index)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	pause := heartbeat
	switch {
	case n.link != l || l.err() != nil || n.closing:
		return
	case n.state == down:
		l.beat.Reset(heartbeat) // it has yet to answer what it was sent
		return
	case l.guarded || n.clockCheck.unsteady(): // the log and Notify tell when that ends
	case does == Waiting:
		pause = waitingBeat
	case does == Idle:
		pause = max(l.silence, heartbeat)
	}
	if n.compose == nil { // it has ended meanwhile
		notes = nil
	}
	now := clock.Now()
	if left := now.Left(l.checked.Add(pause)); left > 0 && len(notes) == 0 {
		l.beat.Reset(left)
		return
	}
	for _, note := range notes {
		c := n.newCallLocked(note.Cmd, note.To)
		c.sent, l.notesDue = now, now.Add(n.noteEvery())
		n.queue.Push(c)
	}
	l.beatDue = true
	n.Flush()
}

// checks are the commands that check the connection and the master. See [Activity] for when.
var checks = [...]*script.Command{ping, askTime, askRole}

// Commands of the connection itself, which run no script.
var (
	// ping tests a connection that carries nothing else. A master that cannot write to its
	// disk says so to a PING, but not to a TIME.
	ping = script.Plain("PING")

	// askRole asks whether the master is still one, and has been one all the time.
	askRole = script.Plain("INFO", "replication")

	// askTime asks a master for its time, which [Node.Time] then returns.
	askTime = script.Plain("TIME")
)

// Note is a command by which a client tells a master about itself, or asks about others. No lock depends on its answer.
type Note struct {
	Cmd *script.Command
	To  Receiver
}

// noteEvery is how old notes are, at least, when new ones are sent. They are at most a silence old.
func (n *Node) noteEvery() time.Duration { return n.longestSilence() * 2 / 3 }

// Present makes the node send the notes that compose returns for its master: soon after each new connection,
// and then every 12 to 18 s, behind the checks and in the same write. A nil compose ends that.
func (n *Node) Present(compose func(i int) []Note) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.compose = compose
	if l := n.link; l != nil {
		l.beat.Reset(n.firstBeatLocked())
	}
}

// Noted tells the node that notes were sent just now, by Send; or, if not, that those it sent are out of date, and new ones
// are due.
func (n *Node) Noted(sent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.link
	switch {
	case l == nil:
	case sent:
		l.notesDue = clock.Now().Add(n.noteEvery())
	default:
		l.notesDue = clock.Now()
		l.beat.Reset(n.firstBeatLocked())
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
