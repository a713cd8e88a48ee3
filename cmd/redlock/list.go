package main

import (
	"context"
	"fmt"

	"example.com/redlock/internal/quote"
	"example.com/redlock/redlock"
)

type listCmd struct {
	Limit   int    `default:"100" placeholder:"N" help:"How many to list at most."`
	Pattern string `arg:"" optional:"" default:"*" help:"Which names: * stands for any characters, ? for one, [ab] for one of those. Default: all."`
	watchFlag
	JSON  bool `name:"json" help:"Print JSON; times are in milliseconds."`
	Names bool `help:"Print the names alone, one on each line."`
	fleetFlags
}

// Run prints which names are held, and by whom.
func (l *listCmd) Run(std streams, from origins) error {
	if l.Limit < 1 {
		return fail(exitUsage, "--limit: %d is not a number from 1 on", l.Limit)
	}
	client, err := l.openToLook(from, std.err)
	if err != nil {
		return err
	}
	defer closeWithin(client, unlockLimit)
	return l.run(std, "redlock list "+l.Pattern, l.JSON, func(ctx context.Context, out page) error {
		all, err := client.List(ctx, l.Pattern, l.Limit)
		if err != nil {
			return fail(codeOf(err), "%w", err)
		}
		switch {
		case l.JSON:
			err = encode(out, listReport(all))
		case l.Names:
			err = printNames(out, all)
		default:
			err = printList(out, all)
		}
		if err != nil {
			return err
		}
		if len(all.Locks) == 0 {
			return quiet(exitNo)
		}
		return nil
	})
}

// printNames prints each name once.
func printNames(out page, all redlock.Listing) error {
	var last string
	for _, one := range all.Locks {
		if name := quote.Text(one.Name); name != last {
			if _, err := fmt.Fprintln(out, name); err != nil {
				return err
			}
			last = name
		}
	}
	return nil
}

// printList prints a line for each name.
func printList(out page, all redlock.Listing) error {
	if len(all.Locks) == 0 {
		return out.say("nothing is held")
	}
	rows := [][]string{{"NAME", "HOLDER", "COUNT", "FOR", "LEFT", "WAIT", "AT", "TOKEN"}}
	for _, one := range all.Locks {
		holder, count, held, token := compact(one.Holder, one.Client), fmt.Sprint(one.Count), "-", "-"
		switch {
		case one.Semaphore:
			holder, count = counted(one.Slots, "permit", "permits"), "-"
		case !one.Held:
			holder, count = "(no majority)", "-"
		case one.Holder == shared:
			holder, count = counted(one.Readers, "reader", "readers"), "-"
		case mayKeep(one.Holder):
			count += " or kept"
		}
		if one.For > 0 {
			held = age(one.For)
		}
		if one.Token > 0 {
			token = fmt.Sprint(one.Token)
		}
		rows = append(rows, []string{one.Name, holder, count, held, age(one.Left), fmt.Sprint(one.Waiting), fmt.Sprint(one.Masters), token})
	}
	if err := out.table(rows, 0, 1); err != nil {
		return err
	}
	if all.More {
		if err := out.say(""); err != nil {
			return err
		}
		return out.say("There may be more: narrow it down with a pattern, or raise --limit.")
	}
	return nil
}

// listJSON is the JSON form. Fields are never removed; new ones may be added.
type listJSON struct {
	Locks []lockJSON `json:"locks"`
	More  bool       `json:"more"` // there may be more
}

type lockJSON struct {
	Name      string      `json:"name"`
	Semaphore bool        `json:"semaphore"`
	Held      bool        `json:"held"` // a majority names who has it
	Holder    string      `json:"holder,omitempty"`
	Client    *clientJSON `json:"client,omitempty"` // of the holder
	Count     int         `json:"count"`
	LeftMS    int64       `json:"left_ms"`
	ForMS     int64       `json:"for_ms"` // how long it has been held; 0 if that is not known
	Token     int64       `json:"token"`
	Readers   int         `json:"readers"`
	Slots     int         `json:"slots"`
	Waiting   int         `json:"waiting"`
	Masters   int         `json:"masters"` // that name the holder
}

func listReport(all redlock.Listing) listJSON {
	report := listJSON{Locks: []lockJSON{}, More: all.More}
	for _, one := range all.Locks {
		report.Locks = append(report.Locks, lockJSON{
			Name: one.Name, Semaphore: one.Semaphore, Held: one.Held, Holder: one.Holder, Client: clientAsJSON(one.Client),
			Count: one.Count, LeftMS: one.Left.Milliseconds(), ForMS: one.For.Milliseconds(), Token: one.Token,
			Readers: one.Readers, Slots: one.Slots, Waiting: one.Waiting, Masters: one.Masters,
		})
	}
	return report
}
