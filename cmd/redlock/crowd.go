package main

import (
	"fmt"
	"slices"
	"strings"

	"example.com/redlock/redlock"
)

// What inspect prints where several have a name together, or wait for it.

// shared is what the masters call readers that have a lock together.
const shared = "shared"

// holderOf says who has a lock.
func holderOf(holder string, client *redlock.ClientInfo, readers int) string {
	switch {
	case holder != shared:
		return named(holder, client)
	case readers == 0: // no majority has the same ones
		return "readers"
	case readers == 1:
		return "1 reader"
	}
	return fmt.Sprintf("%d readers", readers)
}

// mayKeep reports whether the client of a holder keeps locks: if so, nobody knows whether it is done. Its owner's
// name says so, "uuid:kN".
func mayKeep(holder string) bool { return strings.Contains(holder, ":k") }

// printReaders prints those who have a lock together, if readers do.
func printReaders(out page, seen redlock.Inspection) error {
	if len(seen.Readers) == 0 {
		return nil
	}
	rows := [][]string{{"READER", "LEFT"}}
	for _, r := range seen.Readers {
		rows = append(rows, []string{named(r.Owner, r.Client), rounded(r.Left)})
	}
	return out.nextTable(rows)
}

// queued is a waiter, and at how many masters it stands in the queue.
type queued struct {
	redlock.Waiter
	masters int
}

// inLine makes one queue of those of the masters: each waiter once, where it stands first.
func inLine(queues [][]redlock.Waiter) (line []queued) {
	for place := 0; ; place++ {
		longer := false
		for _, queue := range queues {
			if place >= len(queue) {
				continue
			}
			longer = true
			w := queue[place]
			i := slices.IndexFunc(line, func(q queued) bool { return q.Owner == w.Owner })
			if i < 0 {
				i, line = len(line), append(line, queued{Waiter: w})
			}
			line[i].masters++
			line[i].Permits = max(line[i].Permits, w.Permits)
		}
		if !longer {
			return line
		}
	}
}

// printQueue prints who waits, and for what, if anybody does.
func printQueue(out page, queues [][]redlock.Waiter) error {
	line := inLine(queues)
	if len(line) == 0 {
		return nil
	}
	rows := [][]string{{"WAITER", "FOR", "MASTERS"}}
	for _, w := range line {
		what := "the lock"
		switch {
		case w.Permits > 0:
			what = fmt.Sprintf("one of %d permits", w.Permits)
		case w.Shared:
			what = "reading"
		}
		rows = append(rows, []string{named(w.Owner, w.Client), what, fmt.Sprintf("%d of %d", w.masters, len(queues))})
	}
	return out.nextTable(rows)
}
