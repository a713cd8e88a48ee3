package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"
)

// timeline prints one line per event: when, which masters are alive, who holds the lock and for how
// much longer, and what happened.
type timeline struct {
	out   io.Writer
	ink   palette
	start time.Time
	alive func() []bool

	mu     sync.Mutex
	holder string
	left   func() time.Duration
}

func newTimeline(out io.Writer, ink palette, alive func() []bool) *timeline {
	t := &timeline{out: out, ink: ink, start: time.Now(), alive: alive}
	fmt.Fprintf(out, "  time  masters  holder   left  %s what happens\n", strings.Repeat(" ", gaugeWidth))
	return t
}

// holds sets who holds the lock from now on; "" means nobody.
func (t *timeline) holds(who string, left func() time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.holder, t.left = who, left
}

// event prints one line.
func (t *timeline) event(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	holder, left, gauge := "-", "-", strings.Repeat(" ", gaugeWidth)
	if t.holder != "" {
		d := max(0, t.left())
		holder, left, gauge = t.holder, seconds(d), t.gauge(d)
	}
	fmt.Fprintf(t.out, "%6s  %s%s  %-6s  %5s  %s %s\n",
		seconds(time.Since(t.start)), t.picture(), strings.Repeat(" ", max(0, len("masters")-len(t.alive()))),
		holder, left, gauge, fmt.Sprintf(format, args...))
}

// picture returns one mark per master.
func (t *timeline) picture() string {
	var b strings.Builder
	for _, up := range t.alive() {
		if up {
			b.WriteString(t.ink.good("●"))
		} else {
			b.WriteString(t.ink.bad("○"))
		}
	}
	return b.String()
}

const gaugeWidth = 8

// gauge draws what is left of the lease.
func (t *timeline) gauge(left time.Duration) string {
	full := min(gaugeWidth, int((left*gaugeWidth+demoLease/2)/demoLease))
	bar := strings.Repeat("▮", full)
	rest := strings.Repeat("▯", gaugeWidth-full)
	if full <= gaugeWidth/2 {
		return t.ink.bad(bar) + t.ink.faint(rest)
	}
	return t.ink.good(bar) + t.ink.faint(rest)
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
	info, err := out.Stat()
	terminal := err == nil && info.Mode()&os.ModeCharDevice != 0
	return palette{on: terminal && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
}
