package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"example.com/redlock/doctor/probe"
	"example.com/redlock/node/server"
	"example.com/redlock/redlock"
)

// Limit is how long an examination takes at most. On masters that are near it takes two seconds.
const Limit = 20 * time.Second

// patience is how long one answer may take. It is longer than any sensible NodeTimeout, so that a slow
// master is found to be slow, and not dead.
const patience = 2 * time.Second

// Examine examines the masters of a client with that Config, all at the same time. It takes two
// seconds or so, and [Limit] at most; a master that does not answer costs two seconds, once. At the end
// of ctx it reports what it has found by then, within a second.
//
// The examination locks a random name that begins with name: one of yours, or how yours begin, since
// the user may be permitted no others. Config.Prefix is in front of it, as of all names; where both are empty, it finds
// out nothing about your names unless the user may use all. Findings have whole keys.
func Examine(ctx context.Context, cfg redlock.Config, name string) (Report, error) {
	cfg, err := cfg.WithDefaults()
	if err != nil {
		return Report{}, err
	}
	dialer := server.Dialer{TLS: cfg.TLS, Credentials: cfg.Credentials, Dial: cfg.Dial}
	pools, names, err := dialer.Pools(cfg.Pools, cfg.Masters)
	if err != nil {
		return Report{}, err
	}
	if len(cfg.Pools) == 0 {
		defer func() {
			for _, pool := range pools {
				_ = pool.Close()
			}
		}()
	}
	ctx, cancel := context.WithTimeout(ctx, Limit-probe.CleanTime)
	defer cancel()
	facts := make([]probe.Facts, len(pools))
	var wg sync.WaitGroup
	for i := range pools {
		wg.Go(func() {
			facts[i] = probe.Run(ctx, probe.Examination{
				Name: names[i], Pool: pools[i],
				Guard: max(cfg.RestartGuard, 0), Patience: max(patience, cfg.NodeTimeout),
				Start:   cfg.Prefix + name,
				Dialed:  cfg.Dial == nil,
				Scratch: fmt.Sprintf("%s%sdoctor:%016x", cfg.Prefix, name, rand.Uint64()), // two names may lead to one server
			})
		})
	}
	wg.Wait()
	return diagnose(cfg, facts), nil
}

// Severity says how bad a finding is.
type Severity int

// The severities, from good to bad.
const (
	OK      Severity = iota // a check that found nothing
	Note                    // worth knowing
	Warning                 // locks are safe, but something is to be mended
	Error                   // locks are not safe, or cannot be had
)

var severities = []string{OK: "ok", Note: "note", Warning: "warning", Error: "error"}

func (s Severity) String() string {
	if s < OK || s > Error {
		return fmt.Sprintf("Severity(%d)", int(s))
	}
	return severities[s]
}

// MarshalText returns "ok", "note", "warning" or "error".
func (s Severity) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText returns.
func (s *Severity) UnmarshalText(text []byte) error {
	i := slices.Index(severities, string(text))
	if i < 0 {
		return fmt.Errorf("doctor: %.20q is no severity", text)
	}
	*s = Severity(i)
	return nil
}

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
	Granting int       `json:"granting"` // how many can grant a lock now
	Needed   int       `json:"needed"`   // how many make a majority
	Findings []Finding `json:"findings"` // in the order of the checks
}

// Safe reports whether locks are safe on these masters, and can be had: no finding is an Error. Of no masters, as
// with an error of [Examine], it says nothing good.
func (r Report) Safe() bool { return len(r.Masters) > 0 && r.Worst() < Error }

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
	return slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.ID != id || f.Severity <= OK })
}
