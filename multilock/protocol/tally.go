package protocol

import (
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/quorum"
)

// Found is what a renewal found at a master.
type Found uint8

const (
	FoundNothing Found = iota // no answer, or one that says nothing of the hold
	FoundHold                 // it is there, or was set again, and extended
	FoundAbsent               // it is not there
)

// Renewal counts the answers to one renewal of one hold.
type Renewal struct {
	Sent   clock.Instant
	Lease  time.Duration
	Shared bool // it was sent for a reader

	Yes, Absent, Nothing Set
	Told                 bool
}

// Step counts what was found at master i, and returns the event of the hold that follows, once:
// HoldRenewed, HoldFailed or HoldLost. HoldFailed follows only when all answers are in: until then,
// the hold may still be renewed, or turn out to be lost.
func (r *Renewal) Step(conf *Config, i int, found Found) (ev HoldEvent, told bool) {
	switch found {
	case FoundHold:
		r.Yes |= 1 << i
	case FoundAbsent:
		r.Absent |= 1 << i
	default:
		r.Nothing |= 1 << i
	}
	switch result := conf.decide(r.Yes.Len(), r.Absent.Len()); {
	case r.Told:
		return ev, false
	case result == quorum.Won:
		ev = HoldEvent{Kind: HoldRenewed, Until: deadline(r.Sent, r.Lease)}
	case result == quorum.Lost:
		ev = HoldEvent{Kind: HoldLost, Writer: !r.Shared}
	case r.Yes|r.Absent|r.Nothing == All(conf.Masters):
		ev.Kind = HoldFailed
	default:
		return ev, false
	}
	r.Told = true
	return ev, true
}

// Return counts the answers to one release.
type Return struct {
	Freed   Set // masters that had the hold until now
	Lacked  Set // masters that did not have it
	Unclear Set // masters that did not answer, or with an error
}

// Step counts the answer of master i.
func (r *Return) Step(i int, outcome Outcome) {
	switch outcome {
	case Yes:
		r.Freed |= 1 << i
	case No:
		r.Lacked |= 1 << i
	default:
		r.Unclear |= 1 << i
	}
}

// Lost reports whether so many masters lacked the hold that somebody else may have had the lock:
// those that lacked it may have been his, those that freed it just now were ours until then.
func (r *Return) Lost(conf *Config) quorum.Result {
	return conf.decide(r.Lacked.Len(), r.Freed.Len())
}

// Free reports whether a majority is known not to have the hold any more.
func (r *Return) Free(conf *Config) bool {
	return conf.decide((r.Freed|r.Lacked).Len(), 0) == quorum.Won
}

// Over reports whether no further answer can change Lost and Free.
func (r *Return) Over(conf *Config) bool {
	lost := r.Lost(conf)
	return r.Freed|r.Lacked|r.Unclear == All(conf.Masters) || lost == quorum.Won || lost == quorum.Lost && r.Free(conf)
}
