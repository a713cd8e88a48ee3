package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"example.com/redlock/doctor"
	"example.com/redlock/quorum"
	"example.com/redlock/redlock"
)

type doctorCmd struct {
	fleetFlags

	Lease positive `env:"REDLOCK_LEASE" default:"30s" help:"The lease that clients use."`
	Name  string   `placeholder:"NAME" help:"One of the names that you lock, or how they begin: doctor locks a random one that begins so. Needed if the user may use no other names, and there is no --prefix."`
	Wait  patience `placeholder:"DURATION" help:"If locks are not safe or cannot be had, examine again for that long: masters that have just started grant nothing for a while."`
	JSON  bool     `name:"json" help:"Print JSON."`
}

// Run prints what is wrong with the masters.
func (d *doctorCmd) Run(std streams, from origins) error {
	cfg, err := d.config(time.Duration(d.Lease), from, io.Discard)
	if err != nil {
		return err
	}
	report, err := d.examine(cfg, from)
	if err != nil {
		return err
	}
	var out page
	if d.JSON {
		out.json(report)
	} else {
		out.screen(report)
	}
	switch err := out.on(std.out); {
	case err != nil:
		return err
	case report.Examined < report.Needed:
		return quiet(exitNoQuorum)
	case !report.Safe():
		return quiet(exitNo)
	}
	return nil
}

// examine examines the masters, and again as long as --wait allows.
func (d *doctorCmd) examine(cfg redlock.Config, from origins) (doctor.Report, error) {
	ended, release := interruptible()
	defer release()
	for until := time.Now().Add(time.Duration(d.Wait)); ; {
		report, err := doctor.Examine(ended, cfg, d.Name)
		switch {
		case err != nil:
			return report, fail(exitUsage, "%s", asFlags(err, "lease", from))
		case ended.Err() != nil || report.Safe() || time.Now().After(until):
			return report, bySignal(ended)
		}
		select {
		case <-time.After(time.Second):
		case <-ended.Done():
		}
	}
}

// indent is the column in which a verdict begins, behind the severity and the check.
const indent = 27

// screen prints the report as plain text of 80 columns.
func (p *page) screen(r doctor.Report) {
	for _, f := range r.Findings {
		severity := f.Severity.String()
		if f.Severity == doctor.Error {
			severity = "ERROR"
		}
		said := f.Verdict
		switch len(f.Masters) {
		case 0:
		case len(r.Masters):
			said = "each master: " + said
		default:
			said = strings.Join(f.Masters, ", ") + ": " + said
		}
		fmt.Fprintf(p, "%-8s %-17s %s\n", severity, f.ID, hang(said, indent))
		if f.Remedy != "" {
			fmt.Fprintf(p, "%*s-> %s\n", indent, "", hang(f.Remedy, indent+3))
		}
	}
	_, verdict := judged(r)
	fmt.Fprintf(p, "\n%s\n", hang(verdict, 0))
}

// standing is a verdict on a set of masters: can they grant locks?
type standing string

const (
	well     standing = "good" // every master can
	strained standing = "odd"  // a majority can
	none     standing = "bad"
)

// standingOf judges masters of which so many can grant locks, and says why in half a sentence.
func standingOf(granting, masters int) (standing, string) {
	need := quorum.Majority(masters)
	grant := fmt.Sprintf("%d of %s can grant locks", granting, counted(masters, "master", "masters"))
	switch {
	case granting < need:
		return none, fmt.Sprintf("%s, %d are needed", grant, need)
	case granting == masters:
		return well, grant
	case granting == need:
		return strained, fmt.Sprintf("no other master may fail: %s, %d are needed", grant, need)
	}
	return strained, fmt.Sprintf("only %d more may fail: %s, %d are needed", granting-need, grant, need)
}

// judged judges the masters of a report, and says why in one sentence.
func judged(r doctor.Report) (standing, string) {
	var rest []string
	for _, s := range []doctor.Severity{doctor.Error, doctor.Warning, doctor.Note} {
		n := 0
		for _, f := range r.Findings {
			if f.Severity == s {
				n++
			}
		}
		if n > 0 {
			rest = append(rest, counted(n, s.String(), s.String()+"s"))
		}
	}
	found := strings.Join(rest, ", ")
	if found == "" {
		found = "nothing to mend"
	}
	how, words := standingOf(r.Granting, len(r.Masters))
	switch {
	case how == none:
		return none, fmt.Sprintf("No locks: %s (%s).", words, found)
	case !r.Safe():
		return none, fmt.Sprintf("Locks are not safe here: %s.", found)
	case how == strained:
		return strained, fmt.Sprintf("Locks are safe here, but %s (%s).", words, found)
	}
	return well, fmt.Sprintf("Locks are safe here: %s.", found)
}
