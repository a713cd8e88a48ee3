package node

import (
	"log/slog"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// fitAt returns from when on the master may grant holds, and whether that may lie ahead.
//
// The age of its process is what it says, counted on by our clock from when it told us:
// between the question and the answer it may have been frozen. It says whole seconds,
// hence the second more. However far its wall clock has jumped, what we know better
// counts: where we saw another process before, the age is at most the time since then,
// and a process that we met before is fit no earlier than we said it was.
//
// A master that was a replica may lack votes that its old master had given, since
// replication does not wait. So its age counts from the promotion. Nobody says when that
// was, only that it was before now: its age is none when we first see it as a master. (A
// process says that it was promoted for as long as it has replicas, and for an hour more,
// repl-backlog-ttl. Redis 7 says the same after a restart with a dump that it wrote while
// it had replicas. Either costs a client that starts one guard at this master.)
func (n *Node) fitAt(id *identity, told clock.Instant) (fit clock.Instant, young bool) {
	last := n.last.id
	met := last.run == id.run && n.replica != id.run && (!id.promoted || last.history == id.history)
	if id.run != "" && (met && last.promoted || n.replica == id.run) {
		id.promoted = true // as we know even where it does not say so
	}
	if n.cfg.Guard <= 0 {
		return told, false
	}
	guard := n.cfg.Guard + clock.Drift(n.cfg.Guard) + time.Second
	if id.err != nil {
		return told.Add(script.Never / 2), true
	}
	age := id.uptime
	if id.promoted && !met {
		age = 0
	}
	fit = told.Add(guard - age)
	known := fit
	switch last.run {
	case "":
	case id.run:
		known = n.last.fit
	default:
		known = n.last.end.Add(guard)
	}
	if told.Left(known) > told.Left(fit) {
		fit = known
	}
	return fit, true
}

// guard returns how long the master still grants no holds.
func (l *link) guard() time.Duration { return clock.Until(l.fit) }

// guarded is why the master grants no hold for so long.
func (l *link) guarded(left time.Duration) *GuardedError {
	return &GuardedError{Left: left, Promoted: l.id.promoted, Why: l.id.err}
}

// announce logs that the master is up, and for how long it grants nothing, and why.
// n.mu is held.
func (n *Node) announce(l *link) {
	left := max(0, l.guard())
	guard := slog.DurationValue(left)
	if l.id.err != nil && left > 0 {
		guard = slog.StringValue("unknown")
	}
	n.cfg.Logger.Info("redlock: master is up", "master", n.cfg.Name, "run_id", l.id.run, "guard", guard)
	if left > 0 {
		l.waits = true
		n.cfg.Logger.Warn("redlock: master grants no hold yet", "master", n.cfg.Name, "error", l.guarded(left))
	}
}

// allowed takes out of batch what a guarded master must not carry out, and marks what it
// must not do in full. An unsteady one, see pace, must not do more than it is asked for either.
//
// The guard is checked here, as late as can be, and holds when the script runs: that
// happens in the process that this connection was opened to, which only gets older.
func (n *Node) allowed(l *link, batch []*call) (rest []*call, due []delivery) {
	left := time.Duration(0)
	if l.young {
		left = l.guard()
	}
	if l.young && left <= 0 {
		l.young = false
		if l.waits {
			n.cfg.Logger.Info("redlock: master grants holds again", "master", n.cfg.Name)
		}
	}
	if !l.young && !n.pace.unsteady() {
		return batch, nil
	}
	for _, c := range batch {
		if l.young && c.cmd.Grants() {
			due = c.settle(due, script.Answer{Outcome: script.Unsent, Err: l.guarded(left)})
			continue
		}
		c.timid = true
		rest = append(rest, c)
	}
	return rest, due
}
