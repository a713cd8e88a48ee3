package doctor

import (
	"fmt"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node"
)

// inStep is how far clocks may be apart: by more, waiters may stand in the wrong order.
const inStep = time.Second

const slew = "keep the clocks in step with NTP, slewed and not stepped (chrony)"

// clocks are the masters whose clocks are known.
func (e *exam) clocks() (all []*node.Facts) {
	for _, f := range e.facts {
		if f.Clock.Known {
			all = append(all, f)
		}
	}
	return all
}

// ahead returns how far a master's clock is ahead of the median of the others.
func (e *exam) ahead(f *node.Facts) time.Duration {
	var others []time.Duration
	for _, o := range e.clocks() {
		if o != f {
			others = append(others, o.Clock.Offset)
		}
	}
	if len(others) == 0 {
		return 0
	}
	slices.Sort(others)
	k := len(others)
	return f.Clock.Offset - (others[(k-1)/2]+others[k/2])/2
}

func (e *exam) clockOffset(f *node.Facts) {
	switch ahead := e.ahead(f); {
	case !f.Clock.Known:
	case ahead > inStep:
		e.note(f, "clock-offset", Warning, slew, "is %s ahead of the others' median: tokens and the order of waiters go by the median, so no more may be off", about(ahead))
	case ahead < -inStep:
		e.note(f, "clock-offset", Warning, slew, "is %s behind the others' median: tokens and the order of waiters go by the median, so no more may be off", about(-ahead))
	}
}

func (e *exam) clockOffsetOK() string {
	var all []time.Duration
	for _, f := range e.clocks() {
		all = append(all, f.Clock.Offset)
	}
	if len(all) < 2 {
		return ""
	}
	return fmt.Sprintf("all within %s of each other", about(slices.Max(all)-slices.Min(all)))
}

func (e *exam) clockRate(f *node.Facts) {
	c := f.Clock
	switch allowed := clock.Drift(c.Over); {
	case c.Gained > allowed:
		e.note(f, "clock-rate", Warning, slew, "gained %s in %s, and leases allow for %s: its votes do not count", about(c.Gained), about(c.Over), about(allowed))
	case c.Lost > allowed:
		e.note(f, "clock-rate", Warning, slew, "lost %s in %s: locks of clients that died stay for longer", about(c.Lost), about(c.Over))
	}
}

func (e *exam) clockRateOK() string {
	var over time.Duration
	for _, f := range e.clocks() {
		over = max(over, f.Clock.Over)
	}
	if over == 0 {
		return ""
	}
	return fmt.Sprintf("all kept pace for %s, within the %s that leases allow for", about(over), about(clock.Drift(over)))
}
