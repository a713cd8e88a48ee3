package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/doctor/probe"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
)

// sound reports whether a master can grant a lock once its guard has passed, as far as it is known.
func (e *exam) sound(i int) bool {
	f := e.facts[i]
	lacks := func(d probe.Refusal) bool { return d.Without == "" }
	same := func(o *probe.Facts) bool { return o.Info["run_id"] != "" && o.Info["run_id"] == f.Info["run_id"] }
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
		wait := "wait"
		if len(left) < len(e.facts) { // time is not all that is missing
			wait += ", and " + remedy
		}
		e.noteAll("quorum", Error, wait, "%d of %s can grant a lock now, and %d are needed: nobody gets one for another %s", n, of, e.need, about(left[e.need-1]))
	case n < e.need && slices.ContainsFunc(e.facts, stranger):
		e.noteAll("quorum", Error, "give doctor one of your names, see below", "%d of %s can grant a lock of the name that doctor made up, and %d are needed: of yours nothing is known", n, of, e.need)
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
	return fmt.Sprintf("of %d masters that all work, any %s may fail", len(e.facts), spare)
}

// refusals notes why masters cannot be used at all. The errors of other checks are noted there.
func (e *exam) refusals() {
	for _, f := range e.facts {
		if sentinel(f) {
			e.note(f, "role", Warning, "use the address of a master that it watches", "is a Sentinel, not a master")
			continue
		}
		if f.Err == nil {
			continue
		}
		id, remedy, why := server.About(f.Err), server.Remedy(f.Err), f.Err.Error()
		switch {
		case errors.Is(f.Err, context.DeadlineExceeded) || errors.Is(f.Err, context.Canceled):
			id, why, remedy = "reachable", "the examination ended before it was done", "look again"
		case slices.Contains([]string{"role", "version", "cluster"}, id) && f.Reached:
			continue
		}
		e.note(f, id, Warning, remedy, "%s", why)
	}
}

func (e *exam) reachableOK() string {
	if len(e.reached) < len(e.facts) {
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

// restartedLately is how long after its start a master may still be known by its last run id.
const restartedLately = 80 * time.Second

// use is how clients use a master.
type use struct {
	said *script.Use
	at   *probe.Facts
}

// by names a client that uses it so.
func (u *use) by() string {
	if r, ok := u.at.Users[u.said.By]; ok {
		return r.String()
	}
	return "a client that has ended or keeps no record"
}

// uses returns how clients use the masters now.
func (e *exam) uses() (list []use) {
	for _, f := range e.facts {
		for i := range f.Uses {
			list = append(list, use{&f.Uses[i], f})
		}
	}
	return list
}

// own returns what a client would publish that has the settings that are examined. If clients have the same
// masters as one of several sets, they are that set.
func (e *exam) own(uses []use) *terms.Terms {
	own := &terms.Terms{Lease: e.cfg.MaxLease.Milliseconds(), Guard: max(e.cfg.RestartGuard, 0).Milliseconds(), Layout: script.Layout}
	host, _ := os.Hostname()
	for _, f := range e.facts {
		m := script.Master{Run: script.ShortRun(f.Info["run_id"]), DB: f.DB}
		if len(e.cfg.Masters) > 0 {
			m.Address = terms.Address(f.Name, host)
		}
		age, known := span(f, "uptime_in_seconds", time.Second)
		m.Young = known && age < restartedLately
		own.Masters = append(own.Masters, m)
	}
	for _, u := range uses {
		if terms.SameMasters(own, u.said.Terms) {
			own.Part, own.Now, own.Next = u.said.Part, u.said.Now, u.said.Next
		}
	}
	return own
}

// otherSets notes clients that use the masters in a way that conflicts with that of others, or with what is
// examined: at each master one of each kind of conflict, since a client may forge as many as a master keeps.
func (e *exam) otherSets() {
	uses := e.uses()
	own := e.own(uses)
	for _, f := range e.facts {
		var at exam
		at.conflicts(own, slices.DeleteFunc(slices.Clone(uses), func(u use) bool { return u.at != f }))
		for len(at.found) > 0 {
			first, all := at.found[0], len(at.found)
			at.found = slices.DeleteFunc(at.found, func(o Finding) bool {
				return o.ID == first.ID && o.Severity == first.Severity && o.Remedy == first.Remedy
			})
			if more := all - len(at.found) - 1; more > 0 {
				first.Verdict += fmt.Sprintf(" (and %d more like this)", more)
			}
			e.note(f, first.ID, first.Severity, first.Remedy, "%s", first.Verdict)
		}
	}
}

// conflicts notes all conflicts between the uses of one master, and with what is examined.
func (e *exam) conflicts(own *terms.Terms, uses []use) {
	for i, u := range uses {
		switch terms.Conflict(own, u.said.Terms) {
		case terms.ErrOverlap:
			e.note(u.at, "other-sets", Error, "find out who has the wrong masters; to change them see docs/changes.md",
				"%s uses %s: majorities of these and of the masters examined need not meet, so two clients can hold one name at once", u.by(), named(u.said.Terms, own))
		case terms.ErrLayout:
			e.note(u.at, "other-sets", Error, "upgrade all clients to one layout, as docs/changes.md says",
				"%s stores locks in layout %d, and this library in layout %d: each misreads the locks of the other, so two clients can hold one name at once", u.by(), u.said.Layout, own.Layout)
		case terms.ErrShortGuard:
			e.note(u.at, "leases", Warning, "raise the restart guard of all clients, and their leases only then; see docs/changes.md",
				"%s takes leases of %v with a restart guard of %v, and here they are %v and %v: a client with these settings is refused",
				u.by(), ms(u.said.Lease), ms(u.said.Guard), ms(own.Lease), ms(own.Guard))
		}
		for _, o := range uses[:i] {
			if e.clash(o, u) {
				break // one says enough of u
			}
		}
	}
}

// named names the masters of other terms: one that does not say its address, by the address that own has for it.
func named(other, own *terms.Terms) string {
	all := terms.Terms{Masters: slices.Clone(other.Masters)}
	for i := range all.Masters {
		m := &all.Masters[i]
		for k := range own.Masters {
			if script.Same(m, &own.Masters[k]) {
				m.Address = cmp.Or(m.Address, own.Masters[k].Address)
			}
		}
	}
	return all.String()
}

// clash notes and reports whether two ways to use a master conflict.
func (e *exam) clash(o, u use) bool {
	switch terms.Conflict(o.said.Terms, u.said.Terms) {
	case terms.ErrRoute:
		e.note(u.at, "other-sets", Error, "find out who has the wrong sets; to change them see docs/changes.md",
			"%s spreads names over %s, and %s over %s: two clients can hold one name at once, each in another set",
			o.by(), o.said.Route(), u.by(), u.said.Route())
	case terms.ErrShortGuard:
		long, short := o, u
		if u.said.Lease > o.said.Lease {
			long, short = u, o
		}
		e.note(u.at, "leases", Error, "raise the restart guard of all clients, and their leases only then; see docs/changes.md",
			"%s takes leases of %v, and %s has a restart guard of %v: two clients can hold one name at once when masters restart",
			long.by(), ms(long.said.Lease), short.by(), ms(short.said.Guard))
	default:
		return false
	}
	return true
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// hidesUses reports whether a master did not tell how clients use it.
func hidesUses(f *probe.Facts) bool {
	return slices.ContainsFunc(f.Unseen, func(u probe.Refusal) bool { return strings.Contains(u.What, "redlock_sets") })
}

func (e *exam) otherSetsOK() string {
	switch {
	case len(e.uses()) > 0:
		return "all clients of these masters can use them together"
	case len(e.reached) > 0 && !slices.ContainsFunc(e.reached, hidesUses):
		return "no client has published which masters it uses"
	}
	return ""
}
