package doctor

import (
	"fmt"
	"slices"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/doctor/probe"
)

// inStep is how far clocks may be apart: by more, waiters may stand in the wrong order.
const inStep = time.Second

const slew = "keep the clocks in step with NTP, slewed and not stepped (chrony)"

// median returns the median of the masters' clocks: of all, since one of two others that is off would move theirs
// halfway. Of an even number half may be off, and what is in the middle between the halves is near neither: so our own
// clock is counted as well, and decides.
func (e *exam) median() time.Duration {
	all := e.offsets()
	if len(all)%2 == 0 {
		all = append(all, 0) // offsets are from ours
	}
	return middle(all)
}

// offsets are those of the clocks that are known.
func (e *exam) offsets() (all []time.Duration) {
	for _, f := range e.facts {
		if f.Clock.Known {
			all = append(all, f.Clock.Offset)
		}
	}
	return all
}

func (e *exam) clockOffset(f *probe.Facts) {
	ahead, side := f.Clock.Offset-e.median(), "ahead of"
	if ahead < 0 {
		side = "behind"
	}
	if f.Clock.Known && ahead.Abs() > inStep {
		e.note(f, "clock-offset", Warning, slew,
			"is %s %s the median of all: tokens and the order of waiters go by the median, so no more may be off", about(ahead.Abs()), side)
	}
}

func (e *exam) clockOffsetOK() string {
	all := e.offsets()
	if len(all) < 2 {
		return ""
	}
	return fmt.Sprintf("all within %s of each other", about(slices.Max(all)-slices.Min(all)))
}

func (e *exam) clockRate(f *probe.Facts) {
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
	for _, f := range e.facts {
		over = max(over, f.Clock.Over)
	}
	if over == 0 {
		return ""
	}
	return fmt.Sprintf("all kept pace for %s, within the %s that leases allow for", about(over), about(clock.Drift(over)))
}

// suggested returns the shortest NodeTimeout and Lease for a master whose round trip usually takes that
// long, as docs/configuration.md has it.
func suggested(usual time.Duration) (timeout, lease time.Duration) {
	timeout = max(50*time.Millisecond, (4*usual + 49*time.Millisecond).Truncate(50*time.Millisecond))
	return timeout, 10 * timeout
}

func (e *exam) roundTrip(f *probe.Facts) {
	if len(f.Trips) == 0 {
		return
	}
	median, slowest := middle(f.Trips), slices.Max(f.Trips)
	timeout, lease := suggested(median)
	remedy := fmt.Sprintf("use a NodeTimeout of %s or more and a Lease of %s or more, or a master that is nearer", about(timeout), about(lease))
	numbers := fmt.Sprintf("a round trip takes %s (%s to %s), and NodeTimeout is %s",
		about(median), about(slices.Min(f.Trips)), about(slowest), about(e.cfg.NodeTimeout))
	switch {
	case median >= e.cfg.NodeTimeout:
		e.note(f, "round-trip", Warning, remedy, "%s: clients take the master for dead", numbers)
	case median >= e.cfg.NodeTimeout/2 || slowest >= e.cfg.NodeTimeout:
		e.note(f, "round-trip", Warning, remedy, "%s: now and then clients take the master for dead", numbers)
	}
}

func (e *exam) roundTripOK() string {
	var medians, all []time.Duration
	for _, f := range e.facts {
		if len(f.Trips) > 0 {
			medians, all = append(medians, middle(f.Trips)), append(all, f.Trips...)
		}
	}
	if len(all) == 0 {
		return ""
	}
	timeout, lease := suggested(slices.Max(medians))
	return fmt.Sprintf("%s (median) to %s: NodeTimeout can be %s and more, Lease %s and more (they are %s and %s)",
		about(middle(medians)), about(slices.Max(all)), about(timeout), about(lease), about(e.cfg.NodeTimeout), about(e.cfg.Lease))
}

func (e *exam) scriptLatency(f *probe.Facts) {
	if len(f.Scripts) == 0 {
		return
	}
	slowest := slices.Max(f.Scripts)
	if work := slowest - slices.Min(f.Trips); work >= e.cfg.NodeTimeout/2 {
		e.note(f, "script-latency", Warning, "see what else the master does: slow commands, swapping, a busy machine",
			"an acquire and a release took up to %s longer than the fastest PING, and NodeTimeout is %s", about(work), about(e.cfg.NodeTimeout))
	}
}

func (e *exam) scriptLatencyOK() string {
	var all []time.Duration
	for _, f := range e.facts {
		all = append(all, f.Scripts...)
	}
	if len(all) == 0 {
		return ""
	}
	return fmt.Sprintf("an acquire and a release in %s (median) to %s, with the way there and back", about(middle(all)), about(slices.Max(all)))
}

func (e *exam) slowCommands(f *probe.Facts) {
	if f.Slow.Took >= e.cfg.NodeTimeout/2 {
		e.note(f, "slow-commands", Warning, "keep slow commands off this master: it does nothing else meanwhile (SLOWLOG GET names them)",
			"%s took %s, and NodeTimeout is %s", f.Slow.Command, about(f.Slow.Took), about(e.cfg.NodeTimeout))
	}
}

func (e *exam) fork(f *probe.Facts) {
	if took, _ := span(f, "latest_fork_usec", time.Microsecond); took >= e.cfg.NodeTimeout/2 {
		e.note(f, "fork", Warning, "fewer snapshots and AOF rewrites, or less data beside the locks",
			"its last fork took %s, in which it answered nobody, and NodeTimeout is %s", about(took), about(e.cfg.NodeTimeout))
	}
}
