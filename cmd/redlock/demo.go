package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"example.com/redlock/internal/history"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

const (
	demoName    = "orders:42"
	demoMasters = 5
	demoClaims  = 8

	// demoLease is short, to keep the story short, but long enough for a busy machine: when the third
	// master comes back, demoRescue is left to notice it.
	demoLease  = 5 * time.Second
	demoRescue = 2300 * time.Millisecond

	// demoLimit ends a story that is stuck.
	demoLimit = 18 * time.Second
)

type demoCmd struct {
	HTML string `name:"html" placeholder:"FILE" predictor:"file" help:"Also draw what happened, as a web page of one file."`
}

// Run plays the story, and draws it. The exit code is 0 only if every claim held.
func (c *demoCmd) Run(std streams) error {
	var page *os.File
	if c.HTML != "" { // now, since what cannot be written would otherwise be known after ten seconds
		var err error
		if page, err = os.Create(c.HTML); err != nil {
			return fail(exitUsage, "--html: %w", err)
		}
		defer page.Close()
	}
	ctx, cancel := context.WithTimeout(context.Background(), demoLimit)
	defer cancel()
	d, err := newDemo(std.out, paletteFor(std.out))
	if err != nil {
		return err
	}
	held := d.play(ctx)
	d.close()
	if page != nil {
		if err := errors.Join(d.record.draw(page), page.Close()); err != nil {
			return fail(exitUsage, "--html: %w", err)
		}
		fmt.Fprintf(std.out, "\nA picture of it is in %s: open it in a browser.\n", c.HTML)
	}
	if !held {
		return fail(exitNo, "not every claim held")
	}
	return nil
}

// demo is the setting: five masters in this process, and two clients that are independent of each
// other.
type demo struct {
	out    io.Writer
	ink    palette
	fleet  *redlocktest.Fleet
	a, b   *redlock.Client
	start  time.Time
	holder *guest   // of the lock, as far as the story is told; nil: nobody
	claims []string // as they are printed
	failed bool     // one of them did not hold
	record *record

	// revive brings the third master back. Tests replace it to make the claims fail.
	revive func(*redlocktest.Master)
}

func newDemo(out io.Writer, ink palette) (*demo, error) {
	d := &demo{
		out: out, ink: ink, fleet: redlocktest.New(demoMasters),
		revive: func(m *redlocktest.Master) { m.RestartWithData() },
	}
	var masters []string
	for _, m := range d.fleet.Masters() {
		masters = append(masters, m.Name())
	}
	d.record = newRecord(masters)
	for _, client := range []**redlock.Client{&d.a, &d.b} {
		var err error
		*client, err = redlock.New(redlock.Config{
			Pools: d.fleet.Pools(),
			Lease: demoLease,
			// The masters come back with their data, so they need no guard.
			RestartGuard: redlock.GuardOff,
			NodeTimeout:  demoLease / 10,
			Logger:       slog.New(slog.DiscardHandler), // it would be between the lines of the story
		})
		if err != nil {
			d.close()
			return nil, err
		}
	}
	return d, nil
}

func (d *demo) close() {
	for i, client := range []*redlock.Client{d.a, d.b} {
		if client != nil {
			_ = client.Close() // releases what a story that broke off still holds
			d.record.add(history.Event{What: history.Exited, Who: []string{"A", "B"}[i]})
		}
	}
	d.fleet.Close()
}

// play tells the story and reports whether every claim held. A story that broke off has not shown everything.
func (d *demo) play(ctx context.Context) bool {
	fmt.Fprintf(d.out, "%s\n%s\n\n", d.ink.bold("Five Redis masters in this process, two clients A and B, one lock: "+demoName+"."),
		fmt.Sprintf("A majority is 3 of 5. The lease is %v, renewed every third of it. %s is up, %s is dead.",
			demoLease, d.ink.good("●"), d.ink.bad("○")))
	d.start = time.Now()
	fmt.Fprintf(d.out, "  time  masters  holder   left  %s what happens\n", strings.Repeat(" ", gaugeWidth))
	if err := d.story(ctx); err != nil {
		d.event("the story breaks off: %s", plain(err))
	}
	took := time.Since(d.start)

	fmt.Fprintf(d.out, "\n%s\n", d.ink.bold("What was shown, as measured:"))
	fmt.Fprint(d.out, strings.Join(d.claims, ""))
	held := !d.failed && len(d.claims) == demoClaims
	all := d.ink.good(fmt.Sprintf("all %d claims held", demoClaims))
	if !held {
		all = fmt.Sprintf("%s of %d claims, not all of them held,", d.ink.bad(fmt.Sprint(len(d.claims))), demoClaims)
	}
	fmt.Fprintf(d.out, "\n%s in %s\n", all, seconds(took))
	return held
}

// claim adds to what the demo claims to show. facts is a format for what was measured, and args are its arguments.
func (d *demo) claim(held bool, text, facts string, args ...any) {
	mark := d.ink.good("✓")
	if !held {
		mark, d.failed = d.ink.bad("✗"), true
	}
	d.claims = append(d.claims, fmt.Sprintf(" %s %s\n   %s\n", mark, text, d.ink.faint(fmt.Sprintf(facts, args...))))
}

// event prints one line: when, which masters are alive, who holds the lock and for how much longer, and what
// happened.
func (d *demo) event(format string, args ...any) {
	masters, holder, left, gauge := "", "-", "-", strings.Repeat(" ", gaugeWidth)
	for _, m := range d.fleet.Masters() {
		if m.Alive() {
			masters += d.ink.good("●")
		} else {
			masters += d.ink.bad("○")
		}
	}
	if d.holder != nil {
		valid := max(0, d.holder.Remaining())
		holder, left, gauge = d.holder.who, seconds(valid), d.gauge(valid)
	}
	masters += strings.Repeat(" ", len("masters")-demoMasters)
	fmt.Fprintf(d.out, "%6s  %s  %-6s  %5s  %s %s\n",
		seconds(time.Since(d.start)), masters, holder, left, gauge, fmt.Sprintf(format, args...))
}

const gaugeWidth = 8

// gauge draws what is left of the lease.
func (d *demo) gauge(left time.Duration) string {
	full := min(gaugeWidth, int((left*gaugeWidth+demoLease/2)/demoLease))
	bar, rest := strings.Repeat("▮", full), d.ink.faint(strings.Repeat("▯", gaugeWidth-full))
	if full <= gaugeWidth/2 {
		return d.ink.bad(bar) + rest
	}
	return d.ink.good(bar) + rest
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2fs", d.Seconds()) }

// palette colours text if on is true.
type palette struct{ on bool }

func (p palette) good(s string) string  { return p.paint("32", s) }
func (p palette) bad(s string) string   { return p.paint("31", s) }
func (p palette) faint(s string) string { return p.paint("2", s) }
func (p palette) bold(s string) string  { return p.paint("1", s) }

func (p palette) paint(code, s string) string {
	if !p.on || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

// paletteFor turns colours on for a terminal, unless the user has turned them off:
// https://no-color.org.
func paletteFor(out *os.File) palette {
	_, _, terminal := size(out)
	return palette{on: terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}
