package node

import (
	"math"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktrace"
)

// clockCheck compares how fast a master's clock runs with how fast ours does. A master whose clock gains more than
// [clock.Drift] has forgotten votes, just as one that restarted, see docs/how-it-works.md, "Clocks of masters". Until
// all leases that it may have ended early would have ended anyway, it is sent every command, but
//
//   - where it says that an owner has a lock, to an Acquire, AcquireOrRegister, Enter or Raise, the
//     answer is Failed with a [server.UnsteadyError], and the caller releases what it may have; a hold that
//     it renewed is Errored, with the same reason;
//   - a [script.HandOff] from it is not delivered;
//   - it neither heals a lock nor hands one off for us, as if it were guarded;
//   - refusals, and answers to commands that only free or look, stay as they were: so does the
//     answer to a Renew that somebody else has the lock, or nobody.
//
// The [Observer] is told of each gain, since it casts doubt on votes that were counted before. A clock that was set back,
// or runs slow, is only logged. For what this does not find, see docs/design/masters.md.
//
// The zero clockCheck has seen no sample.
type clockCheck struct {
	reference    server.Sample // the one since which the clock has gained most
	last         server.Sample
	ahead        time.Duration // gained since it was last steady, above 0 while it is not
	steadyAt     clock.Instant // when it counts as steady again, if it gains no more
	behindLogged bool          // it was logged that the clock fell behind
}

// minRecovery is for how long, at least, a master's votes do not count. Where there is a guard,
// it is that: by then every lease granted before has ended, or was renewed since. Without a
// guard the longest lease in use is not known, and this is the usual one.
const minRecovery = 30 * time.Second

// add takes in a sample and returns what it shows, and by how much the clock has gained at most; 0 if it kept pace.
// The votes do not count for recovery after a gain.
//
// A gain is certain only as far as the time on the way cannot explain it: the earlier clock
// reading may be as old as its question, the later one as new as its answer.
//
// Each sample is compared with all before it, so that a slow gain is found as well. It is enough
// to keep the one that all later ones have gained most since. With
//
//	gain - allowed gain  =  (told - 1.01 read)  -  (told' - 1.01 sent')  -  2 ms
//
// that is the one where told' - 1.01 sent' is least, whatever comes later. While a clock is
// steady, this falls by the hundredth that is allowed, so it is one of the last few samples:
// what was allowed for an hour does not excuse a jump now.
func (c *clockCheck) add(s server.Sample, recovery time.Duration) (found verdict, gained time.Duration) {
	if c.last.Told.IsZero() {
		c.reference, c.last = s, s
		return unchanged, 0
	}
	if lost := s.Sent.Sub(c.last.Read) - s.Told.Sub(c.last.Told); !c.behindLogged && lost > clock.Drift(s.Sent.Sub(c.last.Read)) {
		c.behindLogged, found = true, fellBehind
	}
	c.last = s

	between := s.Read.Sub(c.reference.Sent)
	if gain := s.Told.Sub(c.reference.Told) - between; gain > clock.Drift(between) {
		if !c.unsteady() {
			found = ranAhead
		}
		c.ahead = min(c.ahead, math.MaxInt64-gain) + gain // or it would overflow
		gained = s.Told.Sub(c.reference.Told) - s.Sent.Sub(c.reference.Read)
		c.reference, c.steadyAt = s, s.Read.Add(recovery)
		return found, gained
	}
	passed := s.Sent.Sub(c.reference.Sent)
	if s.Told.Sub(c.reference.Told) < passed+clock.Drift(passed)-clock.Drift(0) {
		c.reference = s
	}
	if c.unsteady() && s.Sent.Left(c.steadyAt) <= 0 {
		c.ahead, found = 0, steadyAgain
	}
	return found, 0
}

// verdict is what a sample shows that was not known before.
type verdict uint8

const (
	unchanged   verdict = iota
	fellBehind          // the clock runs slow, or was set back
	ranAhead            // the clock runs fast, or jumped ahead
	steadyAgain         // the clock has kept up for long enough
)

// unsteady reports whether the master's votes do not count.
func (c *clockCheck) unsteady() bool { return c.ahead > 0 }

// discount returns a, the answer to cmd, with an error in place of each vote if those must not count.
func (c *clockCheck) discount(cmd *script.Command, a script.Answer) script.Answer {
	if !c.unsteady() {
		return a
	}
	return cmd.WithoutVotes(a, &server.UnsteadyError{Ahead: c.ahead})
}

// startClockCheck begins to check the clock of the process that a new connection leads to, or
// continues if it is the process before. One that restarted begins anew: what it granted before
// is forgotten or behind the guard.
func (n *Node) startClockCheck(g *server.Greeting) {
	if refusal, refused := g.Time.(redis.Error); refused {
		n.cfg.Logger.Warn("redlock: TIME is refused: nobody notices when the master's clock jumps",
			"master", n.cfg.Name, "error", refusal)
	}
	var due []delivery
	n.mu.Lock()
	if n.previous.id.Run != g.Run {
		n.clockCheck = clockCheck{}
		due = n.observedLocked(due, Observer.Steady)
	}
	due = n.addSampleLocked(due, g.Asked, g.Told, g.Time)
	n.mu.Unlock()
	n.deliver(due)
}

// addSampleLocked takes in the answer to a TIME.
func (n *Node) addSampleLocked(due []delivery, sent, read clock.Instant, reply any) []delivery {
	s, ok := server.SampleOf(sent, read, reply)
	n.storeTimeLocked(s, ok && !s.Beyond(), read)
	if !ok {
		return due
	}
	recovery := max(n.cfg.Guard+clock.Drift(n.cfg.Guard), minRecovery)
	ahead := n.clockCheck.ahead
	found, most := n.clockCheck.add(s, recovery)
	switch found {
	case fellBehind:
		n.traceChange(redlocktrace.MasterChanged{State: redlocktrace.StateBehind})
		n.cfg.Logger.Warn("redlock: master's clock was set back or runs slow: locks of clients that died stay for longer", "master", n.cfg.Name)
	case ranAhead:
		why := &server.UnsteadyError{Ahead: n.clockCheck.ahead}
		n.traceChange(redlocktrace.MasterChanged{State: redlocktrace.StateUnsteady, Ahead: why.Ahead, Err: why})
		n.cfg.Logger.Warn("redlock: master's clock jumped ahead or runs fast: its votes do not count until it is steady",
			"master", n.cfg.Name, "ahead", why.Ahead, "at_least", recovery)
		n.notifyLocked()
		due = n.observedLocked(due, Observer.Doubted)
	case steadyAgain:
		n.traceChange(redlocktrace.MasterChanged{State: redlocktrace.StateSteady})
		n.cfg.Logger.Info("redlock: master's clock is steady again: its votes count", "master", n.cfg.Name, "ahead", ahead)
		n.notifyLocked()
		due = n.observedLocked(due, Observer.Steady)
	}
	if most > 0 {
		due = n.observedLocked(due, func(to Observer, i int) { to.Gained(i, most) })
	}
	return due
}
