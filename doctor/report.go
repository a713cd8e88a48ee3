package doctor

import (
	"encoding/json"
	"slices"
)

// Severity says how bad a finding is.
type Severity int

// The severities, from good to bad.
const (
	OK      Severity = iota // a check that found nothing
	Note                    // worth knowing
	Warning                 // locks are safe, but something is to be mended
	Error                   // locks are not safe, or cannot be had
)

func (s Severity) String() string { return [...]string{"ok", "note", "warning", "error"}[s] }

// MarshalText returns "ok", "note", "warning" or "error".
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Finding is what one check says of some masters.
type Finding struct {
	ID       string   `json:"id"` // of the check: "eviction-policy"
	Severity Severity `json:"severity"`
	Masters  []string `json:"masters,omitempty"` // that it is about; none: all of them together
	Verdict  string   `json:"verdict"`           // one sentence, with the numbers
	Remedy   string   `json:"remedy,omitempty"`  // one sentence; empty if there is nothing to do
}

// Report is what an examination found.
type Report struct {
	Masters  []string  `json:"masters"`  // by the names that the findings use
	Examined int       `json:"examined"` // how many let us in
	Needed   int       `json:"needed"`   // how many make a majority
	Findings []Finding `json:"findings"` // in the order of the checks
}

// Safe reports whether locks are safe on these masters, and can be had: no finding is an Error.
func (r Report) Safe() bool { return r.Worst() < Error }

// MarshalJSON adds what Safe says to the fields.
func (r Report) MarshalJSON() ([]byte, error) {
	type fields Report
	return json.Marshal(struct {
		Safe bool `json:"safe"`
		fields
	}{r.Safe(), fields(r)})
}

// Worst returns the highest severity of any finding.
func (r Report) Worst() Severity {
	worst := OK
	for _, f := range r.Findings {
		worst = max(worst, f.Severity)
	}
	return worst
}

// Find returns the findings with that ID which are above OK.
func (r Report) Find(id string) []Finding {
	return slices.Collect(func(yield func(Finding) bool) {
		for _, f := range r.Findings {
			if f.ID == id && f.Severity > OK && !yield(f) {
				return
			}
		}
	})
}
