package node

import (
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// pace compares the progress of a master's clock with ours. Of both only the progress
// counts: what time it is there does not matter.
//
// A lease runs on the master's clock, and what the client counts of it leaves out
// [clock.Drift]. A clock that gains more than that, in a jump or since it runs fast, ends
// leases while they are counted, and the master gives their locks to others: it has
// forgotten votes, as one that restarted has. So until those leases would have ended, such
// a master is not counted. It is asked as always, and does what it is told, but
//
//   - where it says that an owner has a lock, to an Acquire, AcquireOrRegister, Enter, Renew or Raise,
//     the answer is Failed, with an [UnsteadyError], and the caller releases what it may have;
//   - a [script.HandOff] from it is not delivered;
//   - it neither heals a lock nor passes one on for us, as if it were guarded;
//   - what only frees, or looks, and what is refused is answered as it was.
//
// A clock that was set back, or runs slow, keeps leases for longer. That is safe, and is
// only logged.
//
// What this cannot do: a jump is found at the next sample, after a second. Until then votes
// are counted that may end early, as are those counted before the jump. A client that
// starts after it knows nothing of it.
//
// The zero pace has seen nothing.
type pace struct {
	from  sample // the one since which the clock has gained most
	last  sample
	ahead time.Duration // gained since it was last steady, above 0 while it is not
	until clock.Instant // when it is steady again, if it gains no more
	slow  bool          // this was logged
}

// sample is one answer to TIME. The master read its clock between sent and read, by ours.
type sample struct {
	sent, read clock.Instant
	told       time.Time
}

// leastRest is how long a master is not counted, at least. Where there is a guard it is
// that: by then every lease that was given before has ended, or been renewed since. Where
// there is none the longest lease in use is not known, and this is the usual one.
const leastRest = 30 * time.Second

// take takes in a sample, and returns what has become of the master.
//
// A gain is certain only as far as the times on the way cannot explain it: the first clock
// reading may be as old as its question, the second one as new as its answer was read. So
// nothing that delays a sample makes a gain: a slow network, a process that was stopped, a
// machine that was suspended (our clock counts that).
//
// Compared is each sample with each one before, so that a slow gain is found as
// well. For that it is enough to keep the one that all later ones have gained most
// since: with
//
//	gain - allowed gain  =  (told - 1.01 read)  -  (told' - 1.01 sent')  -  2 ms
//
// the one where told' - 1.01 sent' is least, whatever comes later. While a clock keeps pace,
// that falls by the hundredth that is allowed, so it is one of the last few: what was
// allowed for an hour is not there for a jump now.
func (p *pace) take(s sample, rest time.Duration) (news news) {
	if p.last.told.IsZero() {
		p.from, p.last = s, s
		return same
	}
	if lost := s.sent.Sub(p.last.read) - s.told.Sub(p.last.told); !p.slow && lost > clock.Drift(s.sent.Sub(p.last.read)) {
		p.slow, news = true, slowed
	}
	p.last = s

	between := s.read.Sub(p.from.sent)
	if gain := s.told.Sub(p.from.told) - between; gain > clock.Drift(between) {
		if !p.unsteady() {
			news = lostPace
		}
		p.ahead += gain
		p.from, p.until = s, s.read.Add(rest)
		return news
	}
	passed := s.sent.Sub(p.from.sent)
	if s.told.Sub(p.from.told) < passed+clock.Drift(passed)-clock.Drift(0) {
		p.from = s
	}
	if p.unsteady() && s.sent.Left(p.until) <= 0 {
		p.ahead, news = 0, steady
	}
	return news
}

// news is what a sample says that was not known before.
type news uint8

const (
	same     news = iota
	slowed        // its clock runs slow, or was set back
	lostPace      // its clock runs fast, or jumped ahead
	steady        // it keeps pace again
)

// doubt returns a, the answer to cmd, or what is to be counted of it.
func (p *pace) doubt(cmd *script.Command, a script.Answer) script.Answer {
	if !p.unsteady() || a.Outcome != script.Done || !cmd.Vouches() {
		return a
	}
	return script.Answer{Outcome: script.Failed, Err: &UnsteadyError{Ahead: p.ahead}}
}

// unsteady reports whether the master is not counted.
func (p *pace) unsteady() bool { return p.ahead > 0 }

// greetClock begins to watch the clock of the process that a new connection leads to, or
// goes on where it is the one before. A process that restarted begins anew: what it gave
// before is forgotten or behind the guard.
func (n *Node) greetClock(id identity, asked, told clock.Instant, reply any) {
	if refusal, refused := reply.(redis.Error); refused {
		n.cfg.Logger.Warn("redlock: TIME is refused: nobody notices when the master's clock jumps",
			"master", n.cfg.Name, "error", refusal)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.last.id.run != id.run {
		n.pace = pace{}
	}
	n.see(asked, told, reply)
}

// see takes in the answer to a TIME. n.mu is held.
func (n *Node) see(sent, read clock.Instant, reply any) {
	told, ok := timeOf(reply)
	n.show(sent, read, told, ok)
	if !ok {
		return
	}
	rest := max(n.cfg.Guard+clock.Drift(n.cfg.Guard), leastRest)
	log, name := n.cfg.Logger, n.cfg.Name
	switch ahead := n.pace.ahead; n.pace.take(sample{sent, read, told}, rest) {
	case slowed:
		log.Warn("redlock: master's clock was set back or runs slow: locks of clients that died stay for longer", "master", name)
	case lostPace:
		log.Warn("redlock: master's clock jumped ahead or runs fast: its votes do not count until it is steady",
			"master", name, "ahead", n.pace.ahead, "at_least", rest)
	case steady:
		log.Info("redlock: master's clock is steady again: its votes count", "master", name, "ahead", ahead)
		n.changed()
	}
}

// shown is what a master's clock showed, and about when.
type shown struct {
	at   clock.Instant
	told time.Time
}

// show notes what the master's clock showed between sent and read; where it did not tell, our
// own stands for it. An answer that was long on its way says little, so it counts only where
// nothing better is known. n.mu is held.
func (n *Node) show(sent, read clock.Instant, told time.Time, ok bool) {
	took := read.Sub(sent)
	switch {
	case n.shown.Load() != nil && took > n.cfg.Timeout:
	case ok:
		n.shown.Store(&shown{at: sent.Add(took / 2), told: told})
	case n.shown.Load() == nil:
		n.shown.Store(&shown{at: read, told: time.Now()})
	}
}

// Time returns what the master's wall clock shows now, to half a round trip and what it
// drifted in the second since it was asked last. One that is gone is taken to go on, and one
// that refuses to tell to show what ours does. It is false if the master was never asked.
func (n *Node) Time(now clock.Instant) (time.Time, bool) {
	s := n.shown.Load()
	if s == nil {
		return time.Time{}, false
	}
	return s.told.Add(now.Sub(s.at)), true
}

// timeOf reads the reply to TIME: seconds and microseconds.
func timeOf(reply any) (t time.Time, ok bool) {
	list, _ := reply.([]any)
	if len(list) != 2 {
		return t, false
	}
	s, err1 := redis.Int64(list[0], nil)
	us, err2 := redis.Int64(list[1], nil)
	// A time that no clock shows would only overflow.
	if err1 != nil || err2 != nil || s < 1 || s > 1<<33 || us < 0 || us > 999_999 {
		return t, false
	}
	return time.Unix(s, us*1000), true
}
