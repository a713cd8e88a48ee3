package main

import (
	"context"
	"fmt"
	"strings"
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
	rows := [][]string{{"NAME", "HOST", "PID", "UP", "HOLDS", "WAITS", "SET", "AT", "VERSION"}}
	var notes []string
	for _, c := range all {
		label := ""
		for _, s := range sets {
			if s.text == c.Set {
				label = s.label
			}
		}
		rows = append(rows, []string{
			c.Name, c.Host, fmt.Sprint(c.PID), age(now.Sub(c.Since)), fmt.Sprint(c.Holds), fmt.Sprint(c.Waits),
			label, fmt.Sprintf("%d/%d", c.At, c.Masters), c.Version,
		})
		if c.Seen > stale {
			notes = append(notes, fmt.Sprintf("%v has not been heard of for %s: it may be dead", &c, age(c.Seen)))
		}
	}
	if err := out.table(rows, 0, 1, 8); err != nil {
		return err
	}
	notes = append(notes, "")
	for i, s := range sets {
		use := "use"
		if s.clients == 1 {
			use = "uses"
		}
		notes = append(notes, fmt.Sprintf("%s: %s %s %s: %s", s.label, counted(s.clients, "client", "clients"), use, counted(s.masters, "master", "masters"), ids(s)))
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

// ids returns the run ids of a set.
func ids(s *setInUse) string {
	_, list, _ := strings.Cut(s.text, ":")
	return strings.ReplaceAll(list, ",", " ")
}

// clientsCode returns the exit code: whether there are sets whose majorities need not meet.
func clientsCode(all []redlock.ClientInfo) int {
	sets := setsInUse(all)
	for i, s := range sets {
		for _, other := range sets[:i] {
			if !s.against(other).meet {
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
	Meet   bool      `json:"meet"`   // each majority of one has a master in common with each of the other
}

func clientsReport(all []redlock.ClientInfo) clientsJSON {
	report := clientsJSON{Clients: []*clientJSON{}, Sets: []setJSON{}, Pairs: []pairJSON{}}
	for i := range all {
		report.Clients = append(report.Clients, clientAsJSON(&all[i]))
	}
	sets := setsInUse(all)
	for i, s := range sets {
		report.Sets = append(report.Sets, setJSON{s.text, s.masters, s.clients})
		for _, other := range sets[:i] {
			r := s.against(other)
			report.Pairs = append(report.Pairs, pairJSON{[2]string{other.text, s.text}, r.common, r.known, r.meet})
		}
	}
	return report
}
