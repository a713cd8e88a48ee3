package main

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
)

type inspectCmd struct {
	fleetFlags

	JSON    bool       `name:"json" help:"Print JSON; times are in milliseconds."`
	Permits anyPermits `help:"Show who has permits of that name, instead of who has the lock."`
	watchFlag
	oneName
}

// Run prints what each master says, and a verdict.
func (i *inspectCmd) Run(std streams, from origins) error {
	name, called, err := i.which("redlock inspect")
	if err != nil {
		return err
	}
	look := func(ctx context.Context, client *redlock.Client, out *page) error {
		s := lookAt(ctx, client, name, bool(i.Permits))
		if s.err != nil && len(s.queues) == 0 {
			return refuse(s.err, called)
		}
		if i.JSON {
			out.json(s.report)
		} else {
			if s.err == nil && !s.held && !s.permits {
				s.verdict += permitsBeside(ctx, client, name)
			}
			s.print(out)
		}
		switch {
		case s.err != nil:
			return fail(codeOf(s.err), "%w", s.err)
		case !s.held:
			return quiet(exitNo)
		}
		return nil
	}
	return i.run(std, from, &i.fleetFlags, "redlock inspect "+name, i.JSON, look)
}

// sight is what the masters say of a lock, or of the permits of a name.
type sight struct {
	err     error // too few masters answered
	permits bool  // it is about permits
	held    bool
	owners  []string                // that a majority names
	verdict string                  // what the masters say together, in one line
	rows    [][]string              // a heading, and what each master says
	notes   []string                // on some masters
	guards  []time.Duration         // of the masters that answered
	queues  [][]redlockadmin.Waiter // one of each master
	having  [][]string              // a heading, and the readers or the slots
	report  any                     // the JSON form
}

// lookAt asks the masters for a name.
func lookAt(ctx context.Context, client *redlock.Client, name string, permits bool) *sight {
	if permits {
		return permitsSight(redlockadmin.Of(client).InspectSemaphore(ctx, name))
	}
	return lockSight(redlockadmin.Of(client).Inspect(ctx, name))
}

// permitsBeside says how many permits of name are held, if any: a user who looks for the lock of that name may mean them.
func permitsBeside(ctx context.Context, client *redlock.Client, name string) string {
	seen, err := redlockadmin.Of(client).InspectSemaphore(ctx, name)
	if err != nil || len(seen.Slots) == 0 {
		return ""
	}
	return fmt.Sprintf("; of the semaphore of that name, %s held: see --permits", counted(len(seen.Slots), "permit is", "permits are"))
}

// add adds what a master says: its name and a row, which is of question marks if it did not answer.
func (s *sight) add(master string, row []string, guard time.Duration, queue []redlockadmin.Waiter, err error) {
	switch {
	case err != nil:
		row = slices.Repeat([]string{"?"}, len(row))
		s.notes = append(s.notes, master+": "+bare(err, master))
	case guard > 0:
		s.notes = append(s.notes, master+": restarted: grants nothing for another "+rounded(guard))
	}
	if err == nil {
		s.guards = append(s.guards, guard)
	}
	s.rows, s.queues = append(s.rows, append([]string{master}, row...)), append(s.queues, queue)
}

// need is how many masters are a majority.
func (s *sight) need() int { return len(s.queues)/2 + 1 }

// print prints a line for each master, the verdict, and below that the readers or slots, and the waiters.
func (s *sight) print(out *page) {
	verdict := s.verdict
	if s.err != nil {
		verdict = fmt.Sprintf("unknown: %d of %d masters answered, %d are needed", len(s.guards), len(s.queues), s.need())
	}
	out.table(s.rows, 0)
	out.say(append(s.notes, "", verdict)...)
	out.nextTable(s.having)
	rows := [][]string{{"WAITER", "WANTS", "MASTERS"}}
	for _, w := range inLine(s.queues) {
		what := "the lock"
		switch {
		case s.permits:
			what = "a permit"
		case w.Shared:
			what = "reading"
		}
		rows = append(rows, []string{named(w.Owner, w.Client), what, fmt.Sprintf("%d of %d", w.masters, len(s.queues))})
	}
	out.nextTable(rows)
}

// queued is a waiter, and at how many masters it stands in the queue.
type queued struct {
	redlockadmin.Waiter
	masters int
}

// inLine merges the queues of the masters: each waiter is there once, at its best place.
func inLine(queues [][]redlockadmin.Waiter) (line []queued) {
	for place, more := 0, true; more; place++ {
		more = false
		for _, queue := range queues {
			if place < len(queue) {
				w := queue[place]
				i := slices.IndexFunc(line, func(q queued) bool { return q.Owner == w.Owner })
				if i < 0 {
					i, line = len(line), append(line, queued{Waiter: w})
				}
				line[i].masters++
				more = true
			}
		}
	}
	return line
}

// bare returns the text of err, if any, without the name of the master, which stands in front of it already.
func bare(err error, master string) string {
	if err == nil {
		return ""
	}
	return strings.TrimPrefix(err.Error(), master+": ")
}

// lockSight is what the masters say of a lock.
func lockSight(seen redlockadmin.Inspection, err error) *sight {
	s := &sight{err: err, held: seen.Held, report: inspectionAsJSON(seen, err)}
	s.rows, s.having = [][]string{{"MASTER", "HOLDER", "COUNT", "LEFT", "TOKEN"}}, [][]string{{"READER", "LEFT"}}
	naming := 0
	for _, m := range seen.Masters {
		row := []string{"-", "-", "-", "-"}
		if m.Holder != "" {
			row = []string{short(holderOf(m.Holder, nil, len(m.Readers))), fmt.Sprint(m.Count), rounded(m.Remaining), "-"}
		}
		if m.Holder == shared {
			row[1] = "-"
		}
		if m.Token > 0 && !mayKeep(m.Holder) { // a client that keeps locks has taken many tokens in advance
			row[3] = fmt.Sprint(m.Token)
		}
		s.add(m.Master, row, m.Guard, m.Queue, m.Err)
		if seen.Holder != "" && m.Holder == seen.Holder {
			naming++
		}
	}
	if seen.Holder != "" && seen.Holder != shared {
		s.owners = []string{seen.Holder}
	}
	for _, r := range seen.Readers {
		s.owners = append(s.owners, r.Owner)
		s.having = append(s.having, []string{named(r.Owner, r.Client), rounded(r.Remaining)})
	}
	if seen.Held {
		s.verdict = heldBy(seen, naming)
	} else {
		s.verdict = s.free(seen.Remaining)
	}
	return s
}

// heldBy says who has a lock, and that so many masters name that owner.
func heldBy(seen redlockadmin.Inspection, naming int) string {
	by, end := "held by ", "it never expires"
	if mayKeep(seen.Holder) {
		by = "held or kept by "
	}
	by += holderSince(seen)
	if seen.Client != nil {
		by += ", owner " + seen.Holder
	}
	if seen.Remaining != never {
		end = fmt.Sprintf("free in at most %s unless renewed", rounded(seen.Remaining))
	}
	return fmt.Sprintf("%s: %d of %d masters say so; %s", by, naming, len(seen.Masters), end)
}

// free says that nobody has the lock, and what else keeps others from it: left is how long a minority of the masters
// still has it.
func (s *sight) free(left time.Duration) string {
	line := fmt.Sprintf("free: no %d of %d masters name the same owner", s.need(), len(s.queues))
	switch {
	case left == 0:
		line = fmt.Sprintf("free: nobody holds it (%d of %d masters answered)", len(s.guards), len(s.queues))
	case left == never:
		line += "; what is left on some masters never expires"
	case left > 0:
		line += fmt.Sprintf("; what is left on some masters is gone in at most %s", rounded(left))
	}
	if guards := slices.Sorted(slices.Values(s.guards)); len(guards) >= s.need() && guards[s.need()-1] > 0 {
		line += fmt.Sprintf("; nobody can take it for another %s, since masters restarted lately", rounded(guards[s.need()-1]))
	}
	return line
}

// never is the time left of a lock that does not expire.
const never = time.Duration(math.MaxInt64)

// shared is what the masters call readers that have a lock together.
const shared = "shared"

// holderOf says who has a lock.
func holderOf(holder string, client *redlock.ClientInfo, readers int) string {
	switch {
	case holder != shared:
		return named(holder, client)
	case readers == 0: // no majority has the same readers
		return "readers"
	}
	return counted(readers, "reader", "readers")
}

// holderSince says who has a lock, and for how long if that is known.
func holderSince(seen redlockadmin.Inspection) string {
	return holderFor(holderOf(seen.Holder, seen.Client, len(seen.Readers)), seen.HeldFor)
}

// holderFor adds for how long, if that is known.
func holderFor(by string, since time.Duration) string {
	if since > 0 {
		by += " for " + howLong(since)
	}
	return by
}

// mayKeep reports whether the holder's client keeps locks, as its owner's name says, "uuid:kN". Then nobody else knows
// whether the holder has unlocked.
func mayKeep(holder string) bool { return strings.Contains(holder, ":k") }

// permitsSight is what the masters say of permits.
func permitsSight(seen redlockadmin.SemaphoreInspection, err error) *sight {
	s := &sight{err: err, permits: true, held: len(seen.Slots) > 0, report: permitsAsJSON(seen, err)}
	s.rows, s.having = [][]string{{"MASTER", "HELD", "WAITING"}}, [][]string{{"SLOT", "HOLDER", "FOR", "LEFT", "TOKEN"}}
	for _, m := range seen.Masters {
		queue := clientsIn(m.Queue)
		s.add(m.Master, []string{fmt.Sprint(len(m.Slots)), fmt.Sprint(len(queue))}, m.Guard, queue, m.Err)
	}
	for _, t := range seen.Slots {
		s.owners = append(s.owners, t.Owner)
		held := "-"
		if t.HeldFor > 0 {
			held = age(t.HeldFor)
		}
		s.having = append(s.having, []string{fmt.Sprint(t.Number), named(t.Owner, t.Client), held, rounded(t.Remaining), fmt.Sprint(t.Token)})
	}
	s.verdict = counted(len(seen.Slots), "permit is", "permits are") + " held"
	if !s.held {
		s.verdict = "no permit is held"
	}
	return s
}

// clientsIn returns each client in the queue of permits once, at its best place, with its id for the owner: a caller waits
// for up to four slots, with an owner for each.
func clientsIn(queue []redlockadmin.Waiter) (all []redlockadmin.Waiter) {
	for _, w := range queue {
		w.Owner, _, _ = strings.Cut(w.Owner, ":")
		if !slices.ContainsFunc(all, func(a redlockadmin.Waiter) bool { return a.Owner == w.Owner }) {
			all = append(all, w)
		}
	}
	return all
}
