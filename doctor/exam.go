package doctor

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/redlock/doctor/probe"
	"example.com/redlock/internal/quote"
	"example.com/redlock/quorum"
	"example.com/redlock/redlock"
)

// checkup is one thing that is looked at, at all masters together or at each that answers. It notes what is
// wrong; where it notes nothing, ok is what there is to say, or nothing if it is empty. It is not asked of
// each master if none answers.
type checkup struct {
	id   string
	look func(*exam)
	each func(*exam, *probe.Facts)
	ok   func(*exam) string
}

// checks are carried out and reported in this order.
var checks = []checkup{
	{id: "quorum", look: (*exam).quorum, ok: (*exam).quorumOK},
	{id: "set-size", look: (*exam).setSize, ok: (*exam).setSizeOK},
	{id: "same-host", look: (*exam).sameHost},
	{id: "other-sets", look: (*exam).otherSets, ok: (*exam).otherSetsOK},
	{id: "leases"}, // other-sets
	{id: "reachable", look: (*exam).refusals, ok: (*exam).reachableOK},
	{id: "tls"}, // it and the next few are refusals as well
	{id: "certificate", each: (*exam).certificate, ok: (*exam).certificateOK},
	{id: "login"},
	{id: "protected-mode"},
	{id: "pool"},
	{id: "no-password", each: (*exam).noPassword},
	{id: "version", each: (*exam).version, ok: (*exam).versionOK},
	{id: "role", each: (*exam).role, ok: (*exam).roleOK},
	{id: "same-server", look: (*exam).sameServer},
	{id: "replicas", each: (*exam).replicas},
	{id: "min-replicas", each: (*exam).minReplicas},
	{id: "cluster", each: (*exam).cluster},
	{id: "guard", each: (*exam).guard, ok: (*exam).guardOK},
	{id: "restart-guard", each: (*exam).restartGuard, ok: (*exam).restartGuardOK},
	{id: "persistence", each: (*exam).persistence},
	{id: "eviction-policy", each: (*exam).evictionPolicy, ok: func(*exam) string { return "noeviction" }},
	{id: "evicted-keys", each: (*exam).evictedKeys},
	{id: "memory", each: (*exam).memory, ok: (*exam).memoryOK},
	{id: "clock-offset", each: (*exam).clockOffset, ok: (*exam).clockOffsetOK},
	{id: "clock-rate", each: (*exam).clockRate, ok: (*exam).clockRateOK},
	{id: "round-trip", each: (*exam).roundTrip, ok: (*exam).roundTripOK},
	{id: "permissions", each: (*exam).permissions, ok: ifTried("the user may use every command, key and channel that clients need")},
	{id: "commands"}, // permissions
	{id: "channels", each: (*exam).channels},
	{id: "trial", each: (*exam).trial, ok: ifTried("locked, waited, handed off, renewed, read, forced and took permits on a scratch name")},
	{id: "subscription", each: (*exam).subscription},
	{id: "script-latency", each: (*exam).scriptLatency, ok: (*exam).scriptLatencyOK},
	{id: "slow-commands", each: (*exam).slowCommands},
	{id: "fork", each: (*exam).fork},
	{id: "idle-timeout", each: (*exam).idleTimeout},
	{id: "max-clients", each: (*exam).maxClients},
	{id: "foreign-locks", each: (*exam).foreignLocks},
	{id: "redisson", each: (*exam).redisson},
	{id: "foreign-keys", each: (*exam).foreignKeys},
	{id: "unseen", each: (*exam).unseen},
}

// exam works out what the facts mean.
type exam struct {
	cfg   redlock.Config // with its defaults
	facts []*probe.Facts

	reached []*probe.Facts // those that answered, without Sentinels: of these nothing else is worth knowing
	need    int
	found   []Finding
}

// diagnose carries out all checks. cfg has its defaults.
func diagnose(cfg redlock.Config, facts []probe.Facts) Report {
	e := &exam{cfg: cfg, need: quorum.Majority(len(facts))}
	report := Report{Needed: e.need}
	for i := range facts {
		e.facts = append(e.facts, &facts[i])
		report.Masters = append(report.Masters, facts[i].Name)
		if facts[i].Reached {
			report.Examined++
		}
		if facts[i].Reached && !sentinel(&facts[i]) {
			e.reached = append(e.reached, &facts[i])
		}
	}
	report.Granting = e.usable()
	for _, c := range checks {
		if c.look != nil {
			c.look(e)
		}
		for _, f := range e.reached {
			if c.each != nil {
				c.each(e, f)
			}
		}
		bad := slices.ContainsFunc(e.found, func(f Finding) bool { return f.ID == c.id })
		if c.ok == nil || bad || c.each != nil && len(e.reached) == 0 {
			continue
		}
		if verdict := quote.Text(c.ok(e)); verdict != "" {
			e.found = append(e.found, Finding{ID: c.id, Verdict: verdict})
		}
	}
	place := func(id string) int { return slices.IndexFunc(checks, func(c checkup) bool { return c.id == id }) }
	slices.SortStableFunc(e.found, func(a, b Finding) int { return place(a.ID) - place(b.ID) })
	report.Findings = e.found
	return report
}

// note notes a finding about one master, together with others of whom the same is to be said.
func (e *exam) note(f *probe.Facts, id string, severity Severity, remedy, verdict string, args ...any) {
	verdict = quote.Text(fmt.Sprintf(verdict, args...))
	for i := range e.found {
		if o := &e.found[i]; o.ID == id && o.Severity == severity && o.Verdict == verdict && o.Remedy == remedy && o.Masters != nil {
			if !slices.Contains(o.Masters, f.Name) {
				o.Masters = append(o.Masters, f.Name)
			}
			return
		}
	}
	e.found = append(e.found, Finding{ID: id, Severity: severity, Masters: []string{f.Name}, Verdict: verdict, Remedy: remedy})
}

// noteAll notes a finding about all masters together.
func (e *exam) noteAll(id string, severity Severity, remedy, verdict string, args ...any) {
	e.found = append(e.found, Finding{ID: id, Severity: severity, Verdict: fmt.Sprintf(verdict, args...), Remedy: remedy})
}

// value returns what CONFIG GET or else INFO says.
func value(f *probe.Facts, name string) string {
	return cmp.Or(f.Settings[name], f.Info[strings.ReplaceAll(name, "-", "_")])
}

// number is value for a number, if there is one. None is below 0: an age is where a clock was set back.
func number(f *probe.Facts, name string) (int64, bool) {
	n, err := strconv.ParseInt(value(f, name), 10, 64)
	return max(n, 0), err == nil
}

// span is number for a duration in such units, as far as there are any that long.
func span(f *probe.Facts, name string, unit time.Duration) (time.Duration, bool) {
	n, known := number(f, name)
	return time.Duration(min(n, int64(math.MaxInt64/unit))) * unit, known
}

// percent returns which share of a whole is used, in whole percent. A master may say any numbers, so these need not
// fit into an integer.
func percent(used, whole int64) float64 { return math.Floor(100 * float64(used) / float64(whole)) }

// count writes a number with its noun.
func count[N int | int64](n N, noun string) string {
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
