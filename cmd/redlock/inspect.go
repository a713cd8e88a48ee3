package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/signal"
	"slices"
	"time"

	"example.com/redlock/redlock"
)

// lookLimit limits how long inspect and unlock take, whatever the masters do.
const lookLimit = 30 * time.Second

type inspectCmd struct {
	fleetFlags

	JSON    bool `name:"json" help:"Print JSON; times are in milliseconds."`
	Permits bool `help:"Show who has permits of that name, instead of who has the lock."`
	watchFlag
	oneName
}

// Run prints what each master says, and a verdict.
func (i *inspectCmd) Run(std streams, from origins) error {
	name, called, err := i.which("redlock inspect")
	if err != nil {
		return err
	}
	client, err := i.openToLook(from, std.err)
	if err != nil {
		return err
	}
	defer closeWithin(client, unlockLimit)
	look := func(ctx context.Context, out page) error { return i.look(ctx, client, name, called, out) }
	if i.Permits {
		look = func(ctx context.Context, out page) error { return i.permits(ctx, client, name, called, out) }
	}
	return i.run(std, "redlock inspect "+name, i.JSON, look)
}

// look prints the lock once.
func (i *inspectCmd) look(ctx context.Context, client *redlock.Client, name, called string, out page) error {
	seen, err := client.Inspect(ctx, name)
	if err != nil && len(seen.Masters) == 0 {
		return refuse(err, called)
	}
	show := printTable
	if i.JSON {
		show = printJSON
	}
	if showErr := show(out, seen, err); showErr != nil {
		return showErr
	}
	if err != nil {
		return fail(codeOf(err), "%w", err)
	}
	if !seen.Held {
		return quiet(exitNo)
	}
	return nil
}

// lookContext returns a context that ends after lookLimit, or at the first interrupt.
func lookContext() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithTimeout(context.Background(), lookLimit)
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt)
	return ctx, func() { stop(); cancel() }
}

// printTable prints one line per master and a verdict, and below that who reads and who waits.
func printTable(out page, seen redlock.Inspection, err error) error {
	rows := [][]string{{"MASTER", "HOLDER", "COUNT", "LEFT", "TOKEN"}}
	var notes []string
	var queues [][]redlock.Waiter
	for _, m := range seen.Masters {
		rows = append(rows, row(m))
		if m.Err != nil {
			notes = append(notes, m.Master+": "+bare(m.Err, m.Master))
		} else if m.Guard > 0 {
			notes = append(notes, m.Master+": "+noteOf(m.Guard))
		}
		queues = append(queues, m.Queue)
	}
	if err := out.table(rows, 0); err != nil {
		return err
	}
	return errors.Join(out.below(notes, verdict(seen, err)), printReaders(out, seen), printQueue(out, queues))
}

// below prints what is to be said about masters, and the verdict.
func (p page) below(notes []string, verdict string) error {
	for _, line := range append(notes, "", verdict) {
		if err := p.say(line); err != nil {
			return err
		}
	}
	return nil
}

func row(m redlock.MasterState) []string {
	if m.Err != nil {
		return []string{m.Master, "?", "?", "?", "?"}
	}
	holder, count, left, token := "-", "-", "-", "-"
	if m.Holder != "" {
		holder, count, left = short(holderOf(m.Holder, nil, len(m.Readers))), fmt.Sprint(m.Count), rounded(m.Left)
	}
	if m.Holder == shared {
		count = "-"
	}
	if m.Token > 0 {
		token = fmt.Sprint(m.Token)
	}
	return []string{m.Master, holder, count, left, token}
}

// noteOf says why a master grants nothing yet.
func noteOf(guard time.Duration) string {
	return "restarted: grants nothing for another " + rounded(guard)
}

// verdict says in one line what the masters say together.
func verdict(seen redlock.Inspection, err error) string {
	naming := 0
	var guards []time.Duration // of the masters that answered
	for _, m := range seen.Masters {
		if m.Err == nil {
			guards = append(guards, m.Guard)
		}
		if seen.Holder != "" && m.Holder == seen.Holder {
			naming++
		}
	}
	of := len(seen.Masters)
	need := of/2 + 1
	if err != nil {
		return fmt.Sprintf("unknown: %d of %d masters answered, %d are needed", len(guards), of, need)
	}
	if seen.Held {
		end := "it never expires"
		if seen.Left != never {
			end = fmt.Sprintf("free in at most %s unless renewed", rounded(seen.Left))
		}
		by := "held by "
		if mayKeep(seen.Holder) {
			by = "held or kept by "
		}
		by += holderOf(seen.Holder, seen.Client, len(seen.Readers))
		if seen.For > 0 {
			by += " for " + howLong(seen.For)
		}
		if seen.Client != nil {
			by += ", owner " + seen.Holder
		}
		return fmt.Sprintf("%s: %d of %d masters say so; %s", by, naming, of, end)
	}
	line := fmt.Sprintf("free: no %d of %d masters name the same owner", need, of)
	switch {
	case seen.Left == never:
		line += "; what is left on some masters never expires"
	case seen.Left > 0:
		line += fmt.Sprintf("; what is left on some masters is gone in at most %s", rounded(seen.Left))
	}
	if slices.Sort(guards); len(guards) >= need && guards[need-1] > 0 {
		line += fmt.Sprintf("; nobody can take it for another %s, since masters restarted lately", rounded(guards[need-1]))
	}
	return line
}

// never is the time left of a lock that does not expire.
const never = time.Duration(math.MaxInt64)

func rounded(d time.Duration) string {
	if d == never {
		return "never"
	}
	if d >= time.Second {
		return d.Round(100 * time.Millisecond).String()
	}
	return d.Round(time.Millisecond).String()
}

// howLong returns a duration as the errors of the library do.
func howLong(d time.Duration) string {
	if d >= time.Second {
		return d.Round(time.Second).String()
	}
	return d.Round(time.Millisecond).String()
}

// inspection and master are the JSON form. Fields are never removed; new ones may be added.
type inspection struct {
	Name    string      `json:"name"`
	Held    *bool       `json:"held"` // null when too few masters answered
	Holder  string      `json:"holder,omitempty"`
	Client  *clientJSON `json:"client,omitempty"` // of the holder
	LeftMS  int64       `json:"left_ms"`
	ForMS   int64       `json:"for_ms"` // how long it has been held; 0 if that is not known
	Readers []reader    `json:"readers,omitempty"`
	Error   string      `json:"error,omitempty"`
	Masters []master    `json:"masters"`
}

type master struct {
	Master  string `json:"master"`
	Holder  string `json:"holder,omitempty"`
	Count   int    `json:"count"`
	LeftMS  int64  `json:"left_ms"`
	Token   int64  `json:"token"`
	GuardMS int64  `json:"guard_ms"`
	Error   string `json:"error,omitempty"`

	Readers []reader `json:"readers,omitempty"`
	Queue   []waiter `json:"queue,omitempty"`
}

// reader is one of those who hold a lock for reading.
type reader struct {
	Owner  string      `json:"owner"`
	Client *clientJSON `json:"client,omitempty"`
	LeftMS int64       `json:"left_ms"`
}

// waiter is one of those who wait, the first one first.
type waiter struct {
	Owner   string      `json:"owner"`
	Client  *clientJSON `json:"client,omitempty"`
	Shared  bool        `json:"shared,omitempty"`
	Permits int         `json:"permits,omitempty"`
}

func readersJSON(readers []redlock.Reader) (list []reader) {
	for _, r := range readers {
		list = append(list, reader{r.Owner, clientAsJSON(r.Client), r.Left.Milliseconds()})
	}
	return list
}

func queueJSON(queue []redlock.Waiter) (list []waiter) {
	for _, w := range queue {
		list = append(list, waiter{w.Owner, clientAsJSON(w.Client), w.Shared, w.Permits})
	}
	return list
}

// printJSON prints one object.
func printJSON(out page, seen redlock.Inspection, err error) error {
	return encode(out, inspectionAsJSON(seen, err))
}

func inspectionAsJSON(seen redlock.Inspection, err error) inspection {
	report := inspection{
		Name: seen.Name, Holder: seen.Holder, Client: clientAsJSON(seen.Client), LeftMS: seen.Left.Milliseconds(), ForMS: seen.For.Milliseconds(),
		Readers: readersJSON(seen.Readers),
		Masters: make([]master, 0, len(seen.Masters)),
	}
	if err != nil {
		report.Error = err.Error()
	}
	if !errors.Is(err, redlock.ErrNoQuorum) {
		report.Held = &seen.Held
	}
	for _, m := range seen.Masters {
		entry := master{
			Master: m.Master, Holder: m.Holder, Count: m.Count,
			LeftMS: m.Left.Milliseconds(), Token: m.Token, GuardMS: m.Guard.Milliseconds(),
			Readers: readersJSON(m.Readers), Queue: queueJSON(m.Queue),
		}
		if m.Err != nil {
			entry.Error = bare(m.Err, m.Master)
		}
		report.Masters = append(report.Masters, entry)
	}
	return report
}

func encode(out io.Writer, report any) error {
	enc := json.NewEncoder(out)
	enc.SetIndent("", "  ")
	return enc.Encode(report)
}
