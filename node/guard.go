package node

import (
	"log/slog"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktrace"
)

// guardEnd returns from when on the master may grant holds, and whether this node has met the process before, as the master
// that it still is. The process said how old it is in an answer that came at told. From then on its age counts by our
// clock, and not from the question: it may have been frozen in between.
//
// What this node saw itself takes precedence, since the master's wall clock may have jumped. A process that took the place of
// another is no older than the time since then, and a guard that was worked out before for the same process does not end
// sooner now.
//
// INFO does not tell when a replica was promoted. So the age of a promoted master counts from when this node first met it as a
// master. For how long Redis remembers a promotion, see docs/changes.md.
func (n *Node) guardEnd(id *server.Identity, told clock.Instant) (end clock.Instant, met bool) {
	last := n.previous.id
	met = last.Run == id.Run && n.replicaRun != id.Run && (!id.Promoted || last.History == id.History)
	if id.Run != "" && (met && last.Promoted || n.replicaRun == id.Run) {
		id.Promoted = true // as this node knows even if the process does not say so
	}
	end = told.Add(id.GrantsIn(n.cfg.Guard, met))
	if n.cfg.Guard <= 0 || id.Err != nil {
		return end, met
	}
	seen := end
	switch last.Run {
	case "":
	case id.Run:
		seen = n.previous.guardEnds
	default:
		seen = n.previous.ended.Add(server.WholeGuard(n.cfg.Guard))
	}
	if told.Left(seen) > told.Left(end) {
		end = seen
	}
	return end, met
}

// guardLeft returns for how long the master grants no holds yet; not above 0: it grants them.
func (l *link) guardLeft() time.Duration { return clock.Until(l.guardEnds) }

func (l *link) guardedError(left time.Duration) *server.GuardedError {
	return &server.GuardedError{Left: left, Promoted: l.id.Promoted, Why: l.id.Err}
}

// logUpLocked logs that the master is up, and if it grants nothing yet, for how long and why.
func (n *Node) logUpLocked(l *link) {
	left := max(0, l.guardLeft())
	guard := slog.DurationValue(left)
	if l.id.Err != nil && left > 0 {
		guard = slog.StringValue("unknown")
	}
	n.traceChange(redlocktrace.MasterChanged{State: redlocktrace.StateUp, RunID: l.id.Run, Guard: left})
	n.cfg.Logger.Info("redlock: master is up", "master", n.cfg.Name, "run_id", l.id.Run, "guard", guard)
	if l.guarded = left > 0; l.guarded {
		n.traceChange(redlocktrace.MasterChanged{State: redlocktrace.StateGuarded, Guard: left, Err: l.guardedError(left)})
		n.cfg.Logger.Warn("redlock: master grants no hold yet", "master", n.cfg.Name, "error", l.guardedError(left))
	}
}

// endGuardLocked notes that the guard is over, if it is.
//
// The writer looks at that as late as possible. A guard that is over when a command is written is over when the script runs,
// since commands on this connection run in one process, which only grows older.
func (n *Node) endGuardLocked(l *link) {
	if !l.guarded || l.guardLeft() > 0 {
		return
	}
	l.guarded = false
	if n.state == up { // else logUpLocked will say so
		n.traceChange(redlocktrace.MasterChanged{State: redlocktrace.StateGranting})
		n.cfg.Logger.Info("redlock: master grants holds again", "master", n.cfg.Name)
	}
}

// withhold changes c to what a guarded master may run. A waiter is entered into the master's queue, so that the lock goes to the
// first of them when the guard ends; the answer to that is no vote. If c must not be sent at all, withhold returns why.
func (l *link) withhold(c *call) error {
	if !l.guarded || !c.cmd.Grants() {
		return nil
	}
	why, ask := l.guardedError(max(l.guardLeft(), 1)), c.cmd.Registering() // it may end just now
	if ask == nil {
		return why
	}
	c.cmd, c.withheld = ask, why
	return nil
}
