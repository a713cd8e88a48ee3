package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.com/redlock/redlock"
)

// permits prints who has permits of the name, and who waits for one.
func (i *inspectCmd) permits(ctx context.Context, client *redlock.Client, name, called string, out page) error {
	seen, err := client.Semaphore(name, 0).Inspect(ctx) // how many there are does not matter
	if err != nil && len(seen.Masters) == 0 {
		return refuse(err, called)
	}
	show := printPermits
	if i.JSON {
		show = printPermitsJSON
	}
	if showErr := show(out, seen, err); showErr != nil {
		return showErr
	}
	if err != nil {
		return fail(codeOf(err), "%w", err)
	}
	if len(seen.Slots) == 0 {
		return quiet(exitNo)
	}
	return nil
}

// printPermits prints one line per master, a verdict, and who has and who waits.
func printPermits(out page, seen redlock.SemaphoreInspection, err error) error {
	rows := [][]string{{"MASTER", "HELD", "WAITING"}}
	var notes []string
	var queues [][]redlock.Waiter
	for _, m := range seen.Masters {
		queues = append(queues, m.Queue)
		if m.Err != nil {
			rows = append(rows, []string{m.Master, "?", "?"})
			notes = append(notes, m.Master+": "+bare(m.Err, m.Master))
			continue
		}
		rows = append(rows, []string{m.Master, fmt.Sprint(len(m.Slots)), fmt.Sprint(len(m.Queue))})
		if m.Guard > 0 {
			notes = append(notes, m.Master+": "+noteOf(m.Guard))
		}
	}
	if err := out.table(rows, 0); err != nil {
		return err
	}
	if err := out.below(notes, permitsVerdict(seen, err)); err != nil {
		return err
	}
	if len(seen.Slots) > 0 {
		rows = [][]string{{"SLOT", "HOLDER", "LEFT", "TOKEN"}}
		for _, s := range seen.Slots {
			rows = append(rows, []string{fmt.Sprint(s.Slot), named(s.Owner, s.Client), rounded(s.Left), fmt.Sprint(s.Token)})
		}
		if err := out.nextTable(rows); err != nil {
			return err
		}
	}
	return printQueue(out, queues)
}

// permitsVerdict says in one line what the masters say together.
func permitsVerdict(seen redlock.SemaphoreInspection, err error) string {
	of := len(seen.Masters)
	if err != nil {
		answered := 0
		for _, m := range seen.Masters {
			if m.Err == nil {
				answered++
			}
		}
		return fmt.Sprintf("unknown: %d of %d masters answered, %d are needed", answered, of, of/2+1)
	}
	switch n := len(seen.Slots); n {
	case 0:
		return "no permit is held"
	case 1:
		return "1 permit is held"
	default:
		return fmt.Sprintf("%d permits are held", n)
	}
}

// bare returns the text of err without the name of the master, which is printed beside it.
func bare(err error, master string) string { return strings.TrimPrefix(err.Error(), master+": ") }

// permitsReport, permitsMaster and slot are the JSON form. Fields are never removed; new ones may be
// added.
type permitsReport struct {
	Name    string          `json:"name"`
	Held    *int            `json:"held"` // null when too few masters answered
	Slots   []slot          `json:"slots"`
	Error   string          `json:"error,omitempty"`
	Masters []permitsMaster `json:"masters"`
}

type permitsMaster struct {
	Master  string   `json:"master"`
	Slots   []slot   `json:"slots"`
	Queue   []waiter `json:"queue,omitempty"`
	GuardMS int64    `json:"guard_ms"`
	Error   string   `json:"error,omitempty"`
}

type slot struct {
	Slot   int         `json:"slot"`
	Holder string      `json:"holder"`
	Client *clientJSON `json:"client,omitempty"`
	LeftMS int64       `json:"left_ms"`
	Token  int64       `json:"token"`
}

func slotsJSON(slots []redlock.Slot) []slot {
	list := make([]slot, 0, len(slots))
	for _, s := range slots {
		list = append(list, slot{s.Slot, s.Owner, clientAsJSON(s.Client), s.Left.Milliseconds(), s.Token})
	}
	return list
}

// printPermitsJSON prints one object.
func printPermitsJSON(out page, seen redlock.SemaphoreInspection, err error) error {
	return encode(out, permitsAsJSON(seen, err))
}

func permitsAsJSON(seen redlock.SemaphoreInspection, err error) permitsReport {
	report := permitsReport{Name: seen.Name, Slots: slotsJSON(seen.Slots), Masters: make([]permitsMaster, 0, len(seen.Masters))}
	if err != nil {
		report.Error = err.Error()
	}
	if held := len(seen.Slots); !errors.Is(err, redlock.ErrNoQuorum) {
		report.Held = &held
	}
	for _, m := range seen.Masters {
		entry := permitsMaster{Master: m.Master, Slots: slotsJSON(m.Slots), Queue: queueJSON(m.Queue), GuardMS: m.Guard.Milliseconds()}
		if m.Err != nil {
			entry.Error = bare(m.Err, m.Master)
		}
		report.Masters = append(report.Masters, entry)
	}
	return report
}
