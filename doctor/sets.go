package doctor

import (
	"os"
	"time"

	"example.com/redlock/multilock/terms"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
)

const (
	// published is how old what clients say of their masters may be: they repeat it every 12 to 18 s.
	published = 20 * time.Second

	// restartedLately is how long after its start a master may still be known by its last run id.
	restartedLately = 80 * time.Second
)

// use is how clients use a master.
type use struct {
	*script.Use
	at *node.Facts
}

// by names a client that uses it so.
func (u *use) by() string {
	if u.Record == nil {
		return "a client without a record"
	}
	return u.Record.String()
}

// uses returns how clients use the masters now. Whoever takes no lock is left out.
func (e *exam) uses() (list []use) {
	for _, f := range e.facts {
		for i := range f.Uses {
			u := use{&f.Uses[i], f}
			if f.Shown-u.Last > published.Milliseconds() || u.Refused {
				continue
			}
			for k := range u.Masters {
				u.Masters[k].Young = e.young(u.Masters[k].Run)
			}
			list = append(list, u)
		}
	}
	return list
}

// young reports whether run is the beginning of the run id of a master that restarted lately.
func (e *exam) young(run string) bool {
	for _, f := range e.facts {
		up, ok := info(f, "uptime_in_seconds")
		if ok && time.Duration(up)*time.Second < restartedLately && run == script.NewMaster(f.Info["run_id"], "").Run {
			return true
		}
	}
	return false
}

// own returns the masters that are examined as the terms of a client. If clients have the same masters as
// one of several sets, they are that set.
func (e *exam) own(uses []use) *terms.Terms {
	own := new(terms.Terms)
	host, _ := os.Hostname()
	for _, f := range e.facts {
		m := script.NewMaster(f.Info["run_id"], "")
		if len(e.cfg.Masters) > 0 {
			m.Address = terms.Address(f.Name, host)
		}
		m.Young = e.young(m.Run)
		own.Masters = append(own.Masters, m)
	}
	for _, u := range uses {
		if terms.SameMasters(own, &u.Terms) {
			own.Part = u.Part
		}
	}
	return own
}

// otherSets notes clients that use other masters together with some of these.
func (e *exam) otherSets() {
	uses := e.uses()
	own := e.own(uses)
	for i, u := range uses {
		if terms.Conflict(own, &u.Terms) == terms.ErrOverlap {
			e.note(u.at, "other-sets", Error, "find out who has the wrong masters; to change them see docs/operations.md",
				"%s uses %s: majorities of these and of the masters examined need not meet, so two clients can hold one name at once", u.by(), u.Terms.String())
		}
		for _, o := range uses[:i] {
			if u.at != o.at {
				continue
			}
			switch terms.Conflict(&o.Terms, &u.Terms) {
			case terms.ErrRoute:
				e.note(u.at, "other-sets", Error, "find out who has the wrong sets; to change them see docs/cost.md",
					"%s spreads names over %s, and %s over %s: two clients can hold one name at once, each in another set",
					o.by(), o.Route(), u.by(), u.Route())
				continue
			case terms.ErrShortGuard:
			default:
				continue
			}
			long, short := o, u
			if u.Lease > o.Lease {
				long, short = u, o
			}
			e.note(u.at, "leases", Error, "raise the restart guard of all clients, and their leases only then; see docs/operations.md",
				"%s takes leases of %v, and %s has a restart guard of %v: two clients can hold one name at once when masters restart",
				long.by(), ms(long.Lease), short.by(), ms(short.Guard))
		}
	}
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

func (e *exam) otherSetsOK() string {
	if len(e.uses()) == 0 {
		return okIfReached(e, "no client has published which masters it uses")
	}
	return "no client uses some of these masters with others"
}
