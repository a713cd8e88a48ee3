package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"example.com/redlock/internal/quote"
	"example.com/redlock/redlock"
)

// lookLimit bounds a look, and unlock, whatever the masters do.
const lookLimit = 30 * time.Second

// interval is the value of --watch: how often to look, or 0 to look once.
type interval time.Duration

const (
	defaultInterval = time.Second
	minInterval     = 100 * time.Millisecond
)

// IsBool says that the flag needs no value: --watch, or --watch=5s.
func (interval) IsBool() bool { return true }

// Decode parses what the user wrote.
func (i *interval) Decode(ctx *kong.DecodeContext) error {
	text, given := optional(ctx, func(word string) bool { _, err := time.ParseDuration(word); return err == nil })
	if !given {
		*i = interval(defaultInterval)
		return nil
	}
	return parseDuration(i, []byte(text), minInterval, fmt.Sprintf("is not a duration of at least %v, such as 5s", minInterval))
}

// watchFlag lets a command look again and again.
type watchFlag struct {
	Watch interval `help:"Look again every second, or every 5s with --watch=5s, until a signal comes. On a terminal, in place."`
}

// look asks the masters, and puts what they say on the page. Its error says how the command ends.
type look func(ctx context.Context, client *redlock.Client, out *page) error

// run looks once, or as often as --watch asks, and prints the page. title says what is watched.
func (w watchFlag) run(std streams, from origins, fleet *fleetFlags, title string, asJSON bool, once look) error {
	client, err := fleet.openToLook(from, std.err)
	if err != nil {
		return err
	}
	defer closeSoon(client)
	ended, release := interruptible()
	defer release()
	s := &pictures{out: std.out, title: quote.Text(title), lines: asJSON}
	defer s.end()
	tick := time.Tick(max(time.Duration(w.Watch), minInterval))
	for {
		_, width, _ := size(std.out) // 0 where it is no terminal
		out := &page{width: width}
		ctx, cancel := context.WithTimeout(ended, lookLimit)
		err := once(ctx, client, out)
		cancel()
		switch code := codeOf(err); {
		case ended.Err() != nil:
			return bySignal(ended) // the page may be incomplete
		case w.Watch == 0:
			return cmp.Or(out.on(std.out), err)
		case err != nil && (code == exitUsage || code == exitSoftware):
			return err // looking again would not help
		}
		picture := out.String()
		if cause := errors.Unwrap(err); picture == "" && cause != nil { // too few masters answered
			if asJSON {
				fmt.Fprintf(std.err, "redlock: %s\n", plain(cause))
			} else {
				picture = plain(cause) + "\n"
			}
		}
		if err := s.show(time.Now(), picture); err != nil {
			return err
		}
		select {
		case <-tick:
		case <-ended.Done():
			return bySignal(ended)
		}
	}
}

// pictures shows one picture after another: in place on a terminal, otherwise one below the other.
type pictures struct {
	out   *os.File
	title string
	lines bool // pictures are JSON, each on one line, on a terminal as well
	drawn bool
}

// show shows a picture.
func (s *pictures) show(now time.Time, picture string) error {
	rows, width, terminal := size(s.out)
	switch {
	case s.lines && picture == "": // no line this time: the reason is on stderr
	case s.lines:
		var line bytes.Buffer
		if err := json.Compact(&line, []byte(picture)); err != nil {
			return err
		}
		picture = line.String() + "\n"
	case terminal:
		picture = frame(now.Format(time.TimeOnly)+"  "+s.title+"\n\n"+picture, rows, width, !s.drawn)
		s.drawn = true
	default:
		picture = fmt.Sprintf("%s  %s\n%s\n", now.Format(time.RFC3339), s.title, picture)
	}
	_, err := s.out.WriteString(picture)
	return err
}

// end leaves the terminal as it should be for whatever comes next.
func (s *pictures) end() {
	if s.drawn {
		_, _ = s.out.WriteString("\n")
	}
}

// frame returns what draws text on a terminal over what is there. It cuts off lines and columns that find no room, and says
// how many lines these are.
func frame(text string, rows, width int, first bool) string {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	if hidden := len(lines) - rows; hidden > 0 && rows > 1 {
		lines = append(lines[:rows-1], fmt.Sprintf("… %d more lines", hidden+1))
	}
	for i, line := range lines {
		lines[i] = cut(line, width) + "\x1b[K" // and clear what is right of it
	}
	text = "\x1b[H" + strings.Join(lines, "\r\n") + "\x1b[J" // from the upper left, and clear what is below
	if first {
		return "\x1b[2J" + text // clear all
	}
	return text
}
