package judge

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"example.com/redlock/internal/history"
)

// Report is what was checked, and what was found.
type Report struct {
	Run     history.Run
	Checks  []Check
	Summary Summary
}

// Check is one rule that a history must keep.
type Check struct {
	Name       string
	Looked     int                 // at so many things
	Unjudged   int                 // cases that look wrong, but in which nothing is promised
	Violations []history.Violation // in the order of time
}

// add adds a violation, which the events show, together with the troubles meanwhile.
func (c *Check) add(r *record, at time.Duration, text string, events ...history.Event) {
	c.Violations = append(c.Violations, history.Violation{Check: c.Name, At: at, Text: text, Events: r.part(events...)})
}

// Verdict is the outcome of a check.
type Verdict string

const (
	Passed  Verdict = "passed"
	Failed  Verdict = "FAILED"
	Nothing Verdict = "looked at nothing" // so it shows nothing
)

// Count returns how many violations there are of what was promised, and how many others.
func (c *Check) Count() (broken, unpromised int) {
	for _, v := range c.Violations {
		if v.Unpromised != "" {
			unpromised++
		}
	}
	return len(c.Violations) - unpromised, unpromised
}

// Verdict returns the outcome. Violations of what nobody promised do not fail a check.
func (c *Check) Verdict() Verdict {
	switch broken, _ := c.Count(); {
	case broken > 0:
		return Failed
	case c.Looked == 0:
		return Nothing
	}
	return Passed
}

// Judge checks a history against all rules.
func Judge(h *history.History) (*Report, error) {
	r, err := newRecord(h)
	if err != nil {
		return nil, err
	}
	exclusion, excused := exclusion(r)
	report := &Report{Run: r.Run, Summary: r.summary(excused), Checks: []Check{
		exclusion, tokens(r), loss(r), deadlines(r), turns(r), service(r), residue(r), answers(r),
	}}
	for _, c := range report.Checks {
		sortByTime(c.Violations)
	}
	return report, nil
}

// Err says which checks have failed. The error of a nil report is nil.
func (r *Report) Err() error {
	var errs []error
	for i := 0; r != nil && i < len(r.Checks); i++ {
		if c := &r.Checks[i]; c.Verdict() == Failed {
			errs = append(errs, fmt.Errorf("%s: %s", c.Name, c.Details()))
		}
	}
	return errors.Join(errs...)
}

// Violations returns what all checks found, in the order of time.
func (r *Report) Violations() []history.Violation {
	all := []history.Violation{} // not nil, which would say to the picture that nobody judged
	for _, c := range r.Checks {
		all = append(all, c.Violations...)
	}
	sortByTime(all)
	return all
}

func sortByTime(violations []history.Violation) {
	slices.SortStableFunc(violations, func(a, b history.Violation) int { return cmp.Compare(a.At, b.At) })
}
