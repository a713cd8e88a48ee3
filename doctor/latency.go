package doctor

import (
	"fmt"
	"slices"
	"time"

	"example.com/redlock/node"
)

// suggested returns the shortest NodeTimeout and Lease for a master whose round trip usually takes that
// long, as docs/sizing.md has it.
func suggested(usual time.Duration) (timeout, lease time.Duration) {
	timeout = max(50*time.Millisecond, (4*usual + 49*time.Millisecond).Truncate(50*time.Millisecond))
	return timeout, 10 * timeout
}

func (e *exam) roundTrip(f *node.Facts) {
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

func (e *exam) scriptLatency(f *node.Facts) {
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

func (e *exam) slowCommands(f *node.Facts) {
	var slowest node.SlowCommand
	for _, s := range f.Slow {
		if s.Took > slowest.Took {
			slowest = s
		}
	}
	if slowest.Took >= e.cfg.NodeTimeout/2 {
		e.note(f, "slow-commands", Warning, "keep slow commands off this master: it does nothing else meanwhile (SLOWLOG GET names them)",
			"%s took %s, and NodeTimeout is %s", slowest.Command, about(slowest.Took), about(e.cfg.NodeTimeout))
	}
}

func (e *exam) fork(f *node.Facts) {
	us, _ := info(f, "latest_fork_usec")
	if took := time.Duration(us) * time.Microsecond; took >= e.cfg.NodeTimeout/2 {
		e.note(f, "fork", Warning, "fewer snapshots and AOF rewrites, or less data beside the locks",
			"its last fork took %s, in which it answered nobody, and NodeTimeout is %s", about(took), about(e.cfg.NodeTimeout))
	}
}
