package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.com/redlock/internal/quote"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
)

type listCmd struct {
	Limit   int    `default:"100" placeholder:"N" help:"How many to list at most."`
	Pattern string `arg:"" optional:"" default:"*" help:"Which names: * stands for any characters, ? for one, [ab] for one of those. Default: all."`
	watchFlag
	JSON  bool `name:"json" help:"Print JSON; times are in milliseconds."`
	Names bool `help:"Print the names alone, one on each line. Bytes that do not print are escaped, such as \\n: --json has the name as it is."`
	fleetFlags
}

// Run prints which names are held, and by whom.
func (l *listCmd) Run(std streams, from origins) error {
	if l.Limit < 1 {
		return fail(exitUsage, "--limit: %d is not a number from 1 on", l.Limit)
	}
	if i := strings.LastIndex(strings.ReplaceAll(l.Pattern, `\[`, ""), "["); i >= 0 && !strings.Contains(l.Pattern[i:], "]") {
		return fail(exitUsage, "%q is no pattern: a [ has no ] (write \\[ for the character)", l.Pattern)
	}
	return l.run(std, from, &l.fleetFlags, "redlock list "+l.Pattern, l.JSON, l.look)
}

func (l *listCmd) look(ctx context.Context, client *redlock.Client, out *page) error {
	all, err := listed(ctx, client, l.Pattern, "", l.Limit)
	switch {
	case err != nil:
		return fail(codeOf(err), "%w", err)
	case l.JSON:
		out.json(listReport(all))
	case l.Names:
		out.names(all)
	default:
		out.list(all)
	}
	if len(all.locks) == 0 {
		return quiet(exitNo)
	}
	return nil
}

// listing is what was found, and whether there may be more.
type listing struct {
	locks []redlockadmin.Listed
	more  bool
}

// listed returns what is held.
func listed(ctx context.Context, client *redlock.Client, pattern, after string, limit int) (all listing, err error) {
	for one, err := range redlockadmin.Of(client).List(ctx, pattern, after, limit) {
		switch {
		case errors.Is(err, redlockadmin.ErrMore):
			all.more = true
		case err != nil:
			return all, err
		default:
			all.locks = append(all.locks, one)
		}
	}
	return all, nil
}

// names prints each name once.
func (p *page) names(all listing) {
	last := ""
	for _, one := range all.locks {
		if name := quote.Text(one.Name); name != last {
			p.WriteString(name + "\n")
			last = name
		}
	}
}

// list prints a line for each name.
func (p *page) list(all listing) {
	if len(all.locks) == 0 {
		p.say("nothing is held")
		return
	}
	rows := [][]string{{"NAME", "HOLDER", "COUNT", "FOR", "LEFT", "WAIT", "AT", "TOKEN"}}
	for _, one := range all.locks {
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
		if one.HeldFor > 0 {
			held = age(one.HeldFor)
		}
		if one.Token > 0 {
			token = fmt.Sprint(one.Token)
		}
		rows = append(rows, []string{one.Name, holder, count, held, age(one.Remaining), fmt.Sprint(one.Waiting), fmt.Sprint(one.Masters), token})
	}
	p.table(rows, 0, 1)
	if all.more {
		p.say("", "There may be more: narrow it down with a pattern, or raise --limit.")
	}
}

// listJSON is the JSON form. Fields are never removed; new ones may be added.
type listJSON struct {
	Locks []lockJSON `json:"locks"`
	More  bool       `json:"more"` // there may be more
}

type lockJSON struct {
	nameJSON
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

func listReport(all listing) listJSON {
	return listJSON{More: all.more, Locks: eachAs(all.locks, func(one redlockadmin.Listed) lockJSON {
		return lockJSON{
			nameJSON: nameAsJSON(one.Name), Semaphore: one.Semaphore, Held: one.Held, Holder: one.Holder, Client: clientAsJSON(one.Client),
			Count: one.Count, LeftMS: one.Remaining.Milliseconds(), ForMS: one.HeldFor.Milliseconds(), Token: one.Token,
			Readers: one.Readers, Slots: one.Slots, Waiting: one.Waiting, Masters: one.Masters,
		}
	})}
}
