package main

import (
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"example.com/redlock/redlock"
)

// What inspect prints where several have a name together, or wait for it.

// shared is what the masters call readers that have a lock together.
const shared = "shared"

// holderOf says who has a lock.
func holderOf(holder string, readers int) string {
	switch {
	case holder != shared:
		return holder
	case readers == 0: // no majority has the same ones
		return "readers"
	case readers == 1:
		return "1 reader"
	}
	return fmt.Sprintf("%d readers", readers)
}

// printReaders prints those who have a lock together, if readers do.
func printReaders(out io.Writer, seen redlock.Inspection) error {
	if len(seen.Readers) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nREADER\tLEFT")
	for _, r := range seen.Readers {
		fmt.Fprintf(table, "%s\t%s\n", r.Owner, rounded(r.Left))
	}
	return table.Flush()
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
func printQueue(out io.Writer, queues [][]redlock.Waiter) error {
	line := inLine(queues)
	if len(line) == 0 {
		return nil
	}
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "\nWAITER\tFOR\tMASTERS")
	for _, w := range line {
		what := "the lock"
		switch {
		case w.Permits > 0:
			what = fmt.Sprintf("one of %d permits", w.Permits)
		case w.Shared:
			what = "reading"
		}
		fmt.Fprintf(table, "%s\t%s\t%d of %d\n", w.Owner, what, w.masters, len(queues))
	}
	return table.Flush()
}
