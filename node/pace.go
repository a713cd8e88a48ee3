package node

import (
	"example.com/redlock/clock"
)

// pace is how much one master is sent. One that answers slower than it is asked would otherwise answer everything when
// nobody waits for it any more.
//
// What is in flight is bounded as TCP bounds it, see docs/design/masters.md. Once commands have waited for
// [Config.Timeout], there is room for a few that wait. Further ones that ask for a hold are answered Unsent at once, and so
// leave nothing at the master that must be released. Releases need no bound of their own: each follows a command that was
// let in, or a message, of which the client answers few at a time.
type pace struct {
	window  int           // how many calls may be under way
	changed clock.Instant // when it did last, while wary
	wary    bool          // it was halved since the master last owed nothing
	room    int           // how many calls may wait before a command that Grants is refused
}

const (
	// firstWindow is so small that a master with 100 script calls a second answers it before its
	// connection is given up, see hopeless, and so large that a burst on a far master takes few
	// round trips.
	firstWindow = 128

	// leastRoom and mostRoom bound the calls that wait.
	leastRoom = 16
	mostRoom  = 1 << 14
)

// rested takes in that the master owes nothing.
func (p *pace) rested() { p.window, p.wary, p.room = max(p.window, firstWindow), false, mostRoom }

// answered takes in the answer to a call that was sent when the window may have been another, whether
// the window was full, and whether the answer was late.
func (p *pace) answered(sent, now clock.Instant, full, late bool) {
	switch {
	case p.wary && sent.Sub(p.changed) <= 0: // it tells of the window before
	case late:
		p.window, p.changed, p.wary = max(p.window/2, 1), now, true
	case !full:
	case p.wary:
		p.window, p.changed = p.window+1, now
	default:
		p.window++
	}
}

// hopeless takes in that an answer was so late that the connection is given up.
func (p *pace) hopeless(now clock.Instant) { p.window, p.changed, p.wary = 1, now, true }

// tookAll takes in that the writer took all that waited.
func (p *pace) tookAll() { p.room = min(2*p.room, mostRoom) }

// gaveUp takes in that commands waited, and were not written.
func (p *pace) gaveUp() { p.room = leastRoom }
