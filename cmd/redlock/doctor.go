package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"example.com/redlock/doctor"
)

type doctorCmd struct {
	fleetFlags

	Lease positive `env:"REDLOCK_LEASE" default:"30s" help:"The lease that clients use."`
	Name  string   `placeholder:"NAME" help:"One of the names that you lock, or how they begin: doctor locks a random one that begins so. Needed if the user may use no other names."`
	JSON  bool     `name:"json" help:"Print JSON."`
}

const doctorHelp = `
Every master is asked how it is set up and how it does, and a random name is locked there in every way
that clients lock a name. Nothing else is changed, and no trace of that name is left. It takes two
seconds or so, and 20 at most.`

const doctorNotes = `
What each finding means, and what to do, is in docs/doctor.md.
`

// Help is the long help text.
func (*doctorCmd) Help() string { return doctorHelp }

// Run prints what is wrong with the masters.
func (d *doctorCmd) Run(std streams, from origins) error {
	cfg, err := d.config(time.Duration(d.Lease), from, io.Discard)
	if err != nil {
		return err
	}
	ctx, cancel := lookContext()
	defer cancel()
	report, err := doctor.Examine(ctx, cfg, d.Name)
	if err != nil {
		return fail(exitUsage, "%s", asFlags(err, "lease", from))
	}
	if d.JSON {
		err = encode(std.out, report)
	} else {
		_, err = io.WriteString(std.out, screen(report))
	}
	switch {
	case err != nil:
		return err
	case report.Examined < report.Needed:
		return quiet(exitNoQuorum)
	case !report.Safe():
		return quiet(exitNo)
	}
	return nil
}

// indent is where a verdict begins: behind the severity and the check.
const indent = 27

// screen returns the report for a person. It is plain text of 80 columns.
func screen(r doctor.Report) string {
	var b strings.Builder
	many := make(map[doctor.Severity]int)
	for _, f := range r.Findings {
		many[f.Severity]++
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
		fmt.Fprintf(&b, "%-8s %-17s %s\n", severity, f.ID, hang(said, indent))
		if f.Remedy != "" {
			fmt.Fprintf(&b, "%*s-> %s\n", indent, "", hang(f.Remedy, indent+3))
		}
	}
	fmt.Fprintf(&b, "\n%s\n", hang(summary(r, many), 0))
	return b.String()
}

// summary says in one sentence how things are.
func summary(r doctor.Report, many map[doctor.Severity]int) string {
	var rest []string
	for _, s := range []doctor.Severity{doctor.Error, doctor.Warning, doctor.Note} {
		if n := many[s]; n == 1 {
			rest = append(rest, "1 "+s.String())
		} else if n > 1 {
			rest = append(rest, fmt.Sprintf("%d %ss", n, s))
		}
	}
	found := strings.Join(rest, ", ")
	if found == "" {
		found = "nothing to mend"
	}
	switch {
	case r.Examined < r.Needed:
		return fmt.Sprintf("Unknown: %d of %d masters answered, %d are needed (%s).", r.Examined, len(r.Masters), r.Needed, found)
	case !r.Safe():
		return fmt.Sprintf("Locks are not safe here, or cannot be had: %s.", found)
	}
	return fmt.Sprintf("Locks are safe here: %s.", found)
}

// hang breaks text into lines of 80 columns, of which all but the first begin with so many spaces.
func hang(text string, indent int) string {
	return strings.Join(wrap(text, columns-indent), "\n"+strings.Repeat(" ", indent))
}
