package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
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

// Help is the long help text.
func (*demoCmd) Help() string { return demoHelp }

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
	room   room
	time   *timeline
	claims claims
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
	d.record = newRecord(time.Now(), masters)
	for _, client := range []**redlock.Client{&d.a, &d.b} {
		var err error
		*client, err = redlock.New(redlock.Config{
			Pools: d.fleet.Pools(),
			Lease: demoLease,
			// The masters come back with their data, so they need no guard.
			RestartGuard: -1,
			NodeTimeout:  demoLease / 10,
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
			d.record.Add(history.Event{What: history.Exited, Who: []string{"A", "B"}[i]})
		}
	}
	d.fleet.Close()
}

// alive returns which masters are up.
func (d *demo) alive() []bool {
	up := make([]bool, demoMasters)
	for i := range up {
		up[i] = d.fleet.Master(i).Alive()
	}
	return up
}

// play tells the story and reports whether every claim held.
func (d *demo) play(ctx context.Context) bool {
	fmt.Fprintf(d.out, "%s\n%s\n\n", d.ink.bold("Five Redis masters in this process, two clients A and B, one lock: "+demoName+"."),
		fmt.Sprintf("A majority is 3 of 5. The lease is %v, renewed every third of it. %s is up, %s is dead.",
			demoLease, d.ink.good("●"), d.ink.bad("○")))
	d.time = newTimeline(d.out, d.ink, d.alive)
	if err := d.story(ctx); err != nil {
		d.time.event("the story breaks off: %s", plain(err))
	}
	took := time.Since(d.time.start)

	fmt.Fprintf(d.out, "\n%s\n", d.ink.bold("What was shown, as measured:"))
	d.claims.print(d.out, d.ink)
	if !d.claims.allHeld(demoClaims) {
		fmt.Fprintf(d.out, "\n%s of %d claims, not all of them held, in %s\n", d.ink.bad(fmt.Sprint(len(d.claims.list))), demoClaims, seconds(took))
		return false
	}
	fmt.Fprintf(d.out, "\n%s in %s\n", d.ink.good(fmt.Sprintf("all %d claims held", demoClaims)), seconds(took))
	return true
}
