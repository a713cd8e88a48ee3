package doctor

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/redlock/internal/quote"
	"example.com/redlock/node"
	"example.com/redlock/quorum"
	"example.com/redlock/redlock"
)

// check is one thing that is looked at. It notes what is wrong; where it notes nothing, ok is what
// there is to say, or nothing if it is empty.
type check struct {
	id   string
	look func(*exam)
	ok   func(*exam) string
}

// checks are carried out and reported in this order.
var checks = []check{
	{"quorum", (*exam).quorum, (*exam).quorumOK},
	{"set-size", (*exam).setSize, (*exam).setSizeOK},
	{"same-host", (*exam).sameHost, nil},
	{"other-sets", (*exam).otherSets, (*exam).otherSetsOK},
	{"leases", nil, nil}, // other-sets
	{"reachable", (*exam).refusals, (*exam).reachableOK},
	{"tls", nil, nil}, // the next few are refusals as well
	{"login", nil, nil},
	{"protected-mode", nil, nil},
	{"pool", nil, nil},
	{"no-password", (*exam).noPassword, nil},
	{"version", (*exam).version, (*exam).versionOK},
	{"role", (*exam).role, (*exam).roleOK},
	{"same-server", (*exam).sameServer, nil},
	{"replicas", (*exam).replicas, nil},
	{"min-replicas", (*exam).minReplicas, nil},
	{"cluster", (*exam).cluster, nil},
	{"guard", (*exam).guard, (*exam).guardOK},
	{"restart-guard", (*exam).restartGuard, (*exam).restartGuardOK},
	{"persistence", (*exam).persistence, nil},
	{"eviction-policy", (*exam).evictionPolicy, (*exam).evictionPolicyOK},
	{"evicted-keys", (*exam).evictedKeys, nil},
	{"memory", (*exam).memory, (*exam).memoryOK},
	{"clock-offset", (*exam).clockOffset, (*exam).clockOffsetOK},
	{"clock-rate", (*exam).clockRate, (*exam).clockRateOK},
	{"round-trip", (*exam).roundTrip, (*exam).roundTripOK},
	{"permissions", (*exam).permissions, (*exam).permissionsOK},
	{"commands", nil, nil}, // permissions
	{"channels", (*exam).channels, nil},
	{"trial", (*exam).trial, (*exam).trialOK},
	{"subscription", (*exam).subscription, nil},
	{"script-latency", (*exam).scriptLatency, (*exam).scriptLatencyOK},
	{"slow-commands", (*exam).slowCommands, nil},
	{"fork", (*exam).fork, nil},
	{"idle-timeout", (*exam).idleTimeout, nil},
	{"max-clients", (*exam).maxClients, nil},
	{"foreign-locks", (*exam).foreignLocks, nil},
	{"redisson", (*exam).redisson, nil},
	{"foreign-keys", (*exam).foreignKeys, nil},
	{"unseen", (*exam).unseen, nil},
}

// exam works out what the facts mean.
type exam struct {
	cfg   redlock.Config // with its defaults
	facts []*node.Facts
	need  int
	found []Finding
}

// diagnose carries out all checks. cfg has its defaults.
func diagnose(cfg redlock.Config, facts []node.Facts) Report {
	e := &exam{cfg: cfg, need: quorum.Majority(len(facts))}
	report := Report{Needed: e.need}
	for i := range facts {
		e.facts = append(e.facts, &facts[i])
		report.Masters = append(report.Masters, facts[i].Name)
		if facts[i].Reached {
			report.Examined++
		}
	}
	for _, c := range checks {
		if c.look != nil {
			c.look(e)
		}
		bad := slices.ContainsFunc(e.found, func(f Finding) bool { return f.ID == c.id })
		if c.ok == nil || bad {
			continue
		}
		if verdict := quote.Text(c.ok(e)); verdict != "" {
			e.found = append(e.found, Finding{ID: c.id, Verdict: verdict})
		}
	}
	place := func(id string) int { return slices.IndexFunc(checks, func(c check) bool { return c.id == id }) }
	slices.SortStableFunc(e.found, func(a, b Finding) int { return place(a.ID) - place(b.ID) })
	report.Findings = e.found
	return report
}

// note notes a finding about one master, together with others of whom the same is to be said.
func (e *exam) note(f *node.Facts, id string, severity Severity, remedy, verdict string, args ...any) {
	verdict = quote.Text(fmt.Sprintf(verdict, args...))
	for i := range e.found {
		if o := &e.found[i]; o.ID == id && o.Severity == severity && o.Verdict == verdict && o.Remedy == remedy && o.Masters != nil {
			o.Masters = append(o.Masters, f.Name)
			return
		}
	}
	e.found = append(e.found, Finding{ID: id, Severity: severity, Masters: []string{f.Name}, Verdict: verdict, Remedy: remedy})
}

// noteAll notes a finding about all masters together.
func (e *exam) noteAll(id string, severity Severity, remedy, verdict string, args ...any) {
	e.found = append(e.found, Finding{ID: id, Severity: severity, Verdict: fmt.Sprintf(verdict, args...), Remedy: remedy})
}

// info returns a number that INFO gave, if it did.
func info(f *node.Facts, name string) (int64, bool) {
	n, err := strconv.ParseInt(f.Info[name], 10, 64)
	return n, err == nil
}

// setting returns what CONFIG GET said, or else INFO.
func setting(f *node.Facts, name, inInfo string) (string, bool) {
	if value, ok := f.Settings[name]; ok {
		return value, true
	}
	value, ok := f.Info[inInfo]
	return value, ok
}

// settingNumber is setting for a number.
func settingNumber(f *node.Facts, name, inInfo string) (int64, bool) {
	text, ok := setting(f, name, inInfo)
	n, err := strconv.ParseInt(text, 10, 64)
	return n, ok && err == nil
}

// reached are the masters that answered.
func (e *exam) reached() (all []*node.Facts) {
	for _, f := range e.facts {
		if f.Reached {
			all = append(all, f)
		}
	}
	return all
}

// count writes a number with its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// about writes a duration in three digits or so.
func about(d time.Duration) string {
	switch a := d.Abs(); {
	case a < time.Millisecond:
		return d.Round(10 * time.Microsecond).String()
	case a < 10*time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case a < time.Second:
		return d.Round(time.Millisecond).String()
	case a < time.Minute:
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}

// size writes a number of bytes.
func size(n int64) string {
	for _, unit := range []string{"B", "kB", "MB", "GB"} {
		if n < 10_000 {
			return fmt.Sprintf("%d %s", n, unit)
		}
		n /= 1000
	}
	return fmt.Sprintf("%d TB", n)
}

// some writes the first few of a list.
func some(list []string) string {
	const few = 3
	quoted := make([]string, min(len(list), few))
	for i := range quoted {
		quoted[i] = strconv.Quote(list[i])
	}
	text := strings.Join(quoted, ", ")
	if len(list) > few {
		text += fmt.Sprintf(" and %d more", len(list)-few)
	}
	return text
}
