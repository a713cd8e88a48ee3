package doctor

import (
	"strings"
	"time"

	"example.com/redlock/multilock"
)

const (
	// published is how old what clients say of their masters may be: they repeat it every 12 to 18 s.
	published = 20 * time.Second

	// restartedLately is how long after its start a master may still be known by its last run id.
	restartedLately = time.Minute
)

// otherSets notes clients that use other masters together with some of these.
func (e *exam) otherSets() {
	runs, young := make([]string, len(e.facts)), 0
	for i, f := range e.facts {
		runs[i] = f.Info["run_id"]
		if up, ok := info(f, "uptime_in_seconds"); ok && time.Duration(up)*time.Second < restartedLately {
			young++
		}
	}
	for _, f := range e.facts {
		for _, set := range f.Sets {
			meets, missing := multilock.SetsMeet(runs, set.Set)
			if meets || set.Seen > published {
				continue
			}
			by := set.Client
			if by == "" {
				by = "a client without a record"
			}
			known, _, _ := strings.Cut(set.Set, " ")
			if missing <= young {
				e.note(f, "other-sets", Warning, "look again in a minute",
					"%s uses other masters together with this one (%s), unless it has not noticed yet that masters restarted", by, known)
				continue
			}
			e.note(f, "other-sets", Error, "find out who has the wrong masters; to change them see docs/operations.md",
				"%s uses other masters together with this one (%s): two clients can hold one name at once", by, known)
		}
	}
}

func (e *exam) otherSetsOK() string {
	clients := false
	for _, f := range e.facts {
		clients = clients || len(f.Sets) > 0
	}
	if !clients {
		return okIfReached(e, "no client has published which masters it uses")
	}
	return "no client uses some of these masters with others"
}
