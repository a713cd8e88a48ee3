package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"example.com/redlock/internal/quote"
)

// interval is the value of --watch: how often to look, or 0 to look once.
type interval time.Duration

const (
	defaultInterval = time.Second
	minInterval     = 100 * time.Millisecond
)

// IsBool says that the flag needs no value: --watch, or --watch=5s.
func (interval) IsBool() bool { return true }

// Decode parses what the user wrote behind =, if anything.
func (i *interval) Decode(ctx *kong.DecodeContext) error {
	*i = interval(defaultInterval)
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		return nil
	}
	text := ctx.Scan.Pop().String()
	d, err := time.ParseDuration(text)
	if err != nil || d < minInterval {
		return fmt.Errorf("%q is not a duration of at least %v, such as 5s", text, minInterval)
	}
	*i = interval(d)
	return nil
}

// watchFlag lets a command look again and again.
type watchFlag struct {
	Watch interval `help:"Look again every second, or every 5s with --watch=5s, until a signal comes. On a terminal, in place."`
}

// look is what a command prints, and how it ends.
type look func(ctx context.Context, out page) error

// run calls look once, or as often as --watch asks. title says what is watched.
func (w watchFlag) run(std streams, title string, asJSON bool, once look) error {
	if w.Watch == 0 {
		ctx, cancel := lookContext()
		defer cancel()
		return once(ctx, pageOn(std.out))
	}
	signals := listen(false)
	defer signal.Stop(signals)
	ended, release := untilSignal(signals)
	defer release()
	s := &pictures{out: std.out, title: quote.Text(title), lines: asJSON}
	defer s.end()
	tick := time.NewTicker(time.Duration(w.Watch))
	defer tick.Stop()
	for {
		var text bytes.Buffer
		ctx, cancel := context.WithTimeout(ended, lookLimit)
		err := once(ctx, page{&text, pageOn(std.out).width})
		cancel()
		if ended.Err() != nil {
			return bySignal(ended)
		}
		if code := codeFor(err); err != nil && (code == exitUsage || code == exitSoftware) {
			return err // looking again would not help
		}
		if err := s.show(time.Now(), text.Bytes()); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ended.Done():
			return bySignal(ended)
		}
	}
}

// pictures shows one picture after another: in place on a terminal, otherwise one below the other.
type pictures struct {
	out   *os.File
	title string
	lines bool // pictures are JSON: each is put on one line, on a terminal as well
	drawn bool
}

// show shows a picture.
func (s *pictures) show(now time.Time, picture []byte) error {
	if s.lines {
		var line bytes.Buffer
		if err := json.Compact(&line, picture); err != nil {
			return err
		}
		line.WriteByte('\n')
		_, err := s.out.Write(line.Bytes())
		return err
	}
	rows, width, terminal := size(s.out)
	if !terminal {
		_, err := fmt.Fprintf(s.out, "%s  %s\n%s\n", now.Format(time.RFC3339), s.title, picture)
		return err
	}
	_, err := io.WriteString(s.out, frame(now.Format(time.TimeOnly)+"  "+s.title+"\n\n"+string(picture), rows, width, !s.drawn))
	s.drawn = true
	return err
}

// end leaves the terminal as it should be for whatever comes next.
func (s *pictures) end() {
	if s.drawn {
		_, _ = io.WriteString(s.out, "\n")
	}
}

// frame returns what draws text on a terminal over what is there. What finds no room is cut off: a line
// at the end, which is said, and a column.
func frame(text string, rows, width int, first bool) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if hidden := len(lines) - rows; hidden > 0 && rows > 1 {
		lines = append(lines[:rows-1], fmt.Sprintf("… %d more lines", hidden+1))
	}
	var b strings.Builder
	if first {
		b.WriteString("\x1b[2J") // clear
	}
	b.WriteString("\x1b[H") // to the upper left
	for i, line := range lines {
		if runes := []rune(line); len(runes) > width {
			line = string(runes[:width-1]) + "…"
		}
		if i > 0 {
			b.WriteString("\r\n")
		}
		b.WriteString(line + "\x1b[K") // and clear what is right of it
	}
	b.WriteString("\x1b[J") // and below
	return b.String()
}
