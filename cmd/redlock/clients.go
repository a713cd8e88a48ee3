package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/redlock/redlock"
)

type clientsCmd struct {
	watchFlag
	JSON bool `name:"json" help:"Print JSON; times are in milliseconds."`
	fleetFlags
}

// Run prints who uses the masters.
func (c *clientsCmd) Run(std streams, from origins) error {
	client, err := c.openToLook(from, std.err)
	if err != nil {
		return err
	}
	defer closeWithin(client, unlockLimit)
	return c.run(std, "redlock clients", c.JSON, func(ctx context.Context, out page) error {
		all, err := client.Clients(ctx)
		if err != nil {
			return fail(codeOf(err), "%w", err)
		}
		if c.JSON {
			err = encode(out, clientsReport(all))
		} else {
			err = printClients(out, all, time.Now())
		}
		if err != nil {
			return err
		}
		return quiet(clientsCode(all))
	})
}

// stale is after how long without a word a client is mentioned. It says something every 12 to 18 s.
const stale = 30 * time.Second

// printClients prints a line for each client, and what there is to say about their sets of masters.
func printClients(out page, all []redlock.ClientInfo, now time.Time) error {
	if len(all) == 0 {
		return out.say("no client uses these masters, or none keeps a record")
	}
	sets := setsInUse(all)
	rows := [][]string{{"NAME", "HOST", "PID", "UP", "SEEN", "HOLDS", "WAITS", "SET", "AT", "VERSION"}}
	var notes []string
	for _, c := range all {
		label := ""
		for _, s := range sets {
			if s.one.Terms.Text() == c.Terms.Text() {
				label = s.label
			}
		}
		rows = append(rows, []string{
			c.Name, c.Host, fmt.Sprint(c.PID), age(now.Sub(c.Since)), age(c.Seen), fmt.Sprint(c.Holds), fmt.Sprint(c.Waits),
			label, fmt.Sprintf("%d/%d", c.At, len(c.Terms.Masters)), c.Version,
		})
		if c.Seen > stale {
			notes = append(notes, fmt.Sprintf("%v has not been heard of for %s: it may be dead", &c, age(c.Seen)))
		}
	}
	if err := out.table(rows, 0, 1, 9); err != nil {
		return err
	}
	notes = append(notes, "")
	for i, s := range sets {
		use := "use"
		if s.clients == 1 {
			use = "uses"
		}
		t := &s.one.Terms
		note := fmt.Sprintf("%s: %s %s %s: %v; leases up to %v, guard %s", s.label, counted(s.clients, "client", "clients"), use, counted(len(t.Masters), "master", "masters"), t, ms(t.Lease), guardOf(t))
		if t.Part != "" {
			note += fmt.Sprintf("; set %q of %s", t.Part, t.Route())
		}
		notes = append(notes, note)
		for _, other := range sets[:i] {
			notes = append(notes, s.against(other).say(s, other))
		}
	}
	for _, note := range notes {
		if err := out.say(note); err != nil {
			return err
		}
	}
	return nil
}

// guardOf returns the restart guard of clients.
func guardOf(t *redlock.Terms) string {
	if t.Guard == 0 {
		return "off"
	}
	return ms(t.Guard).String()
}

func ms(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// clientsCode returns the exit code: whether there are sets whose majorities need not meet.
func clientsCode(all []redlock.ClientInfo) int {
	sets := setsInUse(all)
	for i, s := range sets {
		for _, other := range sets[:i] {
			if !s.against(other).safe(s, other) {
				return exitNo
			}
		}
	}
	return exitOK
}

// clientsJSON is the JSON form. Fields are never removed; new ones may be added.
type clientsJSON struct {
	Clients []*clientJSON `json:"clients"`
	Sets    []setJSON     `json:"sets"`  // the one that most use first
	Pairs   []pairJSON    `json:"pairs"` // of sets, if there are several
}

type setJSON struct {
	Set     string `json:"set"`
	Masters int    `json:"masters"`
	Clients int    `json:"clients"`
}

type pairJSON struct {
	Sets   [2]string `json:"sets"`
	Common int       `json:"common"` // masters that are in both
	Known  bool      `json:"known"`  // whether all masters of both are
	Meet   bool      `json:"meet"`   // each majority of one has a master in common with each of the other, as far as is known
	Safe   bool      `json:"safe"`   // clients of both may take locks at the same time
}

func clientsReport(all []redlock.ClientInfo) clientsJSON {
	report := clientsJSON{Clients: []*clientJSON{}, Sets: []setJSON{}, Pairs: []pairJSON{}}
	for i := range all {
		report.Clients = append(report.Clients, clientAsJSON(&all[i]))
	}
	sets := setsInUse(all)
	for i, s := range sets {
		report.Sets = append(report.Sets, setJSON{s.one.Terms.String(), len(s.one.Terms.Masters), s.clients})
		for _, other := range sets[:i] {
			r := s.against(other)
			report.Pairs = append(report.Pairs, pairJSON{[2]string{other.one.Terms.String(), s.one.Terms.String()}, r.common, r.known, !errors.Is(r.why, redlock.ErrOverlap), r.safe(s, other)})
		}
	}
	return report
}
