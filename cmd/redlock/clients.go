package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
)

type clientsCmd struct {
	watchFlag
	JSON bool `name:"json" help:"Print JSON; times are in milliseconds."`
	fleetFlags
}

// Run prints who uses the masters.
func (c *clientsCmd) Run(std streams, from origins) error {
	return c.run(std, from, &c.fleetFlags, "redlock clients", c.JSON, c.look)
}

func (c *clientsCmd) look(ctx context.Context, client *redlock.Client, out *page) error {
	all, err := redlockadmin.Of(client).Clients(ctx)
	if err != nil {
		return fail(codeOf(err), "%w", err)
	}
	sets := setsInUse(all)
	if c.JSON {
		out.json(clientsReport(all, sets))
	} else {
		out.clients(all, sets, time.Now())
	}
	return quiet(clientsCode(sets))
}

// stale is how long a client may be silent before redlock mentions it. Clients say something every 12 to 18 s.
const stale = 30 * time.Second

// clients prints a line for each client, and how their sets of masters go together.
func (p *page) clients(all []redlock.ClientInfo, sets []*setInUse, now time.Time) {
	if len(all) == 0 {
		p.say("no client uses these masters, or none keeps a record")
		return
	}
	rows := [][]string{{"NAME", "HOST", "PID", "UP", "SEEN", "HOLDS", "WAITS", "SET", "AT", "VERSION"}}
	var notes []string
	of := make([]*setInUse, len(all))
	for _, s := range sets {
		for _, i := range s.members {
			of[i] = s
		}
	}
	for i, c := range all {
		set := of[i]
		rows = append(rows, []string{
			c.Name, c.Host, fmt.Sprint(c.PID), age(max(0, now.Sub(c.Since))), age(c.Seen), fmt.Sprint(c.Holds), fmt.Sprint(c.Waits),
			set.label, fmt.Sprintf("%d/%d", c.At, len(c.Terms.Masters)), c.Version,
		})
		if c.Seen > stale {
			notes = append(notes, fmt.Sprintf("%v has not been heard of for %s: it may be dead", &c, age(c.Seen)))
		}
	}
	p.table(rows, 0, 1, 9)
	p.say(append(notes, "")...)
	for _, s := range sets {
		p.say(s.String())
		for _, r := range s.relations {
			p.say(r.String())
		}
	}
	if n := len(sets) - comparedSets; n > 0 {
		p.say(fmt.Sprintf("%d more sets are not compared with each other", n))
	}
}

// clientsCode returns the exit code, which says whether all sets are known to be safe together.
func clientsCode(sets []*setInUse) int {
	if len(sets) > comparedSets {
		return exitNo
	}
	for _, s := range sets {
		if slices.ContainsFunc(s.relations, func(r relation) bool { return !r.safe() }) {
			return exitNo
		}
	}
	return exitOK
}

// setInUse is how some clients use the masters: with the same masters, leases and guard.
type setInUse struct {
	redlock.Terms            // of one of them
	label         string     // A for the one that most use
	members       []int      // their places in the list
	relations     []relation // with those that more clients use
}

// comparedSets bounds how many sets are compared with each other: those with the most clients.
const comparedSets = 32

// setsInUse returns the sets that clients use, the one with the most clients first.
func setsInUse(clients []redlock.ClientInfo) (sets []*setInUse) {
	of := make(map[string]*setInUse)
	for i := range clients {
		key := clients[i].Terms.Key()
		s := of[key]
		if s == nil {
			s = &setInUse{Terms: clients[i].Terms}
			of[key], sets = s, append(sets, s)
		}
		s.members = append(s.members, i)
	}
	slices.SortStableFunc(sets, func(a, b *setInUse) int { return len(b.members) - len(a.members) })
	for i, s := range sets {
		s.label = fmt.Sprintf("%d", i+1)
		if i < 26 {
			s.label = string(rune('A' + i))
		}
		if i < comparedSets {
			for _, other := range sets[:i] {
				s.relations = append(s.relations, s.against(other))
			}
		}
	}
	return sets
}

// String says who uses the set, and how.
func (s *setInUse) String() string {
	t, use, guard := s.Terms, "use", "off"
	if len(s.members) == 1 {
		use = "uses"
	}
	if t.Guard != 0 {
		guard = t.Guard.String()
	}
	text := fmt.Sprintf("%s: %s %s %s: %v; leases up to %v, guard %s",
		s.label, counted(len(s.members), "client", "clients"), use, counted(len(t.Masters), "master", "masters"), t, t.Lease, guard)
	if t.Part != "" {
		text += fmt.Sprintf("; set %q of %s", t.Part, t.Route())
	}
	return text
}

// relation is how a set goes together with another one that more clients use.
type relation struct {
	set, other *setInUse
	common     int   // masters that are known to be in both
	known      bool  // enough is known to be sure, see redlock.Terms.Compare
	why        error // their clients must not take locks at the same time; nil if they may, as far as is known
}

// against compares s with another set.
func (s *setInUse) against(other *setInUse) relation {
	r := relation{set: s, other: other}
	r.known, r.why = s.Compare(other.Terms)
	for _, m := range s.Masters {
		if m.Run != "" && slices.ContainsFunc(other.Masters, func(o redlock.Master) bool { return m.Run == o.Run && m.DB == o.DB }) {
			r.common++
		}
	}
	return r
}

// safe reports whether it is known that clients of both may take locks at the same time.
func (r relation) safe() bool { return r.why == nil && r.known }

// String says how they go together.
func (r relation) String() string {
	s, other := r.set, r.other
	begin := fmt.Sprintf("%s and %s have %s in common: ", other.label, s.label, counted(r.common, "master", "masters"))
	switch a, b := &s.Terms, &other.Terms; {
	case errors.Is(r.why, redlock.ErrShortGuard):
		if b.Lease > a.Lease {
			s, other, a, b = other, s, b, a
		}
		return begin + fmt.Sprintf("NOT SAFE: %s takes leases of %v, and %s has a restart guard of %v, so two clients may hold the same name at once after masters restart.",
			s.label, a.Lease, other.label, b.Guard)
	case errors.Is(r.why, redlock.ErrRoute):
		return begin + fmt.Sprintf("NOT SAFE: %s spreads names over %s, and %s over %s, so two clients may hold the same name at once in different sets.",
			other.label, b.Route(), s.label, a.Route())
	case errors.Is(r.why, redlock.ErrLayout):
		return begin + fmt.Sprintf("NOT SAFE: %s stores locks in layout %d, and %s in layout %d, so each misreads the locks of the other.",
			other.label, b.Layout, s.label, a.Layout)
	case r.why != nil:
		return begin + "NOT SAFE: a majority of one need not meet one of the other, so two clients may hold the same name at once."
	case len(a.Now) > 0 && len(b.Now) > 0 && a.Route() != b.Route():
		return begin + "the sets that names are spread over are changing, and names that move are locked in both. A rollout is under way until all clients have the same."
	case a.Part != "" && b.Part != "" && a.Part != b.Part:
		return begin + "they are two of several sets that names are spread over."
	case !r.known:
		return begin + "others are not connected or restarted lately, so nobody can say yet whether majorities always meet. Look again soon."
	case r.common == len(a.Masters) && r.common == len(b.Masters):
		return begin + "they are the same masters, with other leases, guards or layouts, which go together."
	default:
		return begin + "each majority of one meets each of the other, so both are safe together. A change of the masters is under way until one set is left."
	}
}

// clientsJSON is the JSON form. Fields are never removed; new ones may be added.
type clientsJSON struct {
	Clients []*clientJSON `json:"clients"`
	Sets    []setJSON     `json:"sets"`  // the one that most use first
	Pairs   []pairJSON    `json:"pairs"` // of sets, if there are several
}

type setJSON struct {
	Set     string `json:"set"`
	Label   string `json:"label"` // sets of the same masters may differ in leases
	Masters int    `json:"masters"`
	Clients int    `json:"clients"`
}

type pairJSON struct {
	Sets   [2]string `json:"sets"`
	Labels [2]string `json:"labels"`
	Common int       `json:"common"` // masters that are in both
	Known  bool      `json:"known"`  // whether all masters of both are
	Meet   bool      `json:"meet"`   // each majority of one has a master in common with each of the other, as far as is known
	Safe   bool      `json:"safe"`   // clients of both may take locks at the same time
}

func clientsReport(all []redlock.ClientInfo, sets []*setInUse) clientsJSON {
	report := clientsJSON{Sets: []setJSON{}, Pairs: []pairJSON{}}
	report.Clients = eachAs(all, func(c redlock.ClientInfo) *clientJSON { return clientAsJSON(&c) })
	for _, s := range sets {
		set := s.Terms.String()
		report.Sets = append(report.Sets, setJSON{set, s.label, len(s.Terms.Masters), len(s.members)})
		for _, i := range s.members {
			report.Clients[i].Set, report.Clients[i].Label = set, s.label // another member may have other addresses for it
		}
		for _, r := range s.relations {
			both, labels := [2]string{r.other.Terms.String(), set}, [2]string{r.other.label, s.label}
			meet := !errors.Is(r.why, redlock.ErrOverlap)
			report.Pairs = append(report.Pairs, pairJSON{both, labels, r.common, r.known, meet, r.safe()})
		}
	}
	return report
}
