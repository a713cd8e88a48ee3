package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node"
)

// sound reports whether a master can grant a lock once its guard has passed, as far as it is known.
func (e *exam) sound(i int) bool {
	f := e.facts[i]
	lacks := func(d node.Denial) bool { return d.Without == "" }
	same := func(o *node.Facts) bool { return o.Info["run_id"] != "" && o.Info["run_id"] == f.Info["run_id"] }
	return f.Err == nil && len(f.Trials) == 0 &&
		!slices.ContainsFunc(f.Denials, lacks) &&
		!slices.ContainsFunc(e.facts[:i], same) &&
		middle(f.Trips) < e.cfg.NodeTimeout &&
		f.Clock.Gained <= clock.Drift(f.Clock.Over)
}

// guards returns for how long each sound master grants nothing yet, the shortest first.
func (e *exam) guards() (left []time.Duration) {
	for i, f := range e.facts {
		if e.sound(i) {
			left = append(left, f.Guard)
		}
	}
	slices.Sort(left)
	return left
}

// usable is how many masters can grant a lock now.
func (e *exam) usable() (n int) {
	for _, left := range e.guards() {
		if left == 0 {
			n++
		}
	}
	return n
}

func (e *exam) quorum() {
	const remedy = "see below what each of the others lacks"
	n, of := e.usable(), count(len(e.facts), "master")
	switch left := e.guards(); {
	case n < e.need && len(left) >= e.need && left[e.need-1] < never:
		e.noteAll("quorum", Error, "wait", "%d of %s can grant a lock now, and %d are needed: nobody gets one for another %s", n, of, e.need, about(left[e.need-1]))
	case n < e.need:
		e.noteAll("quorum", Error, remedy, "%d of %s can grant a lock, and %d are needed: nobody gets one", n, of, e.need)
	case n == e.need && n < len(e.facts):
		e.noteAll("quorum", Warning, remedy, "%d of %s can grant a lock, and %d are needed: none of these may fail", n, of, e.need)
	}
}

// never is longer than any guard of a master whose age is known.
const never = 100 * 365 * 24 * time.Hour

func (e *exam) quorumOK() string {
	return fmt.Sprintf("%d of %s can grant a lock, and %d are needed", e.usable(), count(len(e.facts), "master"), e.need)
}

func (e *exam) setSize() {
	const remedy = "use 3 or 5 independent masters"
	switch n := len(e.facts); {
	case n == 1:
		e.noteAll("set-size", Warning, remedy, "there is one master: no lock survives its loss")
	case n == 2:
		e.noteAll("set-size", Warning, remedy, "there are two masters: a majority is both, so locks survive the loss of neither")
	case n%2 == 0:
		e.noteAll("set-size", Note, remedy, "%d masters survive the loss of %d, which %d do as well", n, n-e.need, n-1)
	}
}

func (e *exam) setSizeOK() string {
	spare := fmt.Sprint(len(e.facts) - e.need)
	if spare == "1" {
		spare = "one"
	}
	return fmt.Sprintf("%d masters: any %s may fail", len(e.facts), spare)
}

// refusals notes why masters cannot be used at all. The errors of other checks are noted there.
func (e *exam) refusals() {
	for _, f := range e.facts {
		if f.Err == nil {
			continue
		}
		id, remedy, why := node.About(f.Err), node.Remedy(f.Err), f.Err.Error()
		switch {
		case errors.Is(f.Err, context.DeadlineExceeded) || errors.Is(f.Err, context.Canceled):
			id, why, remedy = "reachable", "the examination ended before it was done", "look again"
		case id == "role" || id == "version":
			continue
		case strings.Contains(why, "pool exhausted"):
			id, remedy = "pool", "give each pool room for two connections (MaxActive)"
		}
		e.note(f, id, Warning, remedy, "%s", why)
	}
}

func (e *exam) reachableOK() string {
	if len(e.reached()) < len(e.facts) {
		return ""
	}
	return fmt.Sprintf("%d of %s answer and let us in", len(e.facts), count(len(e.facts), "master"))
}

// middle returns the median.
func middle(d []time.Duration) time.Duration {
	if len(d) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(d))
	return sorted[(len(sorted)-1)/2]
}
