package integration

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// journal is a file to which holders append lines while they have the lock, so that the lines are in
// the order of the holds: "in who token" and "out who token".
type journal struct {
	name  string
	file  *os.File
	text  []byte // read so far
	lines int    // in text
}

func newJournal(t *testing.T) *journal {
	t.Helper()
	j := &journal{name: filepath.Join(t.TempDir(), "journal")}
	var err error
	if j.file, err = os.OpenFile(j.name, os.O_CREATE|os.O_RDONLY, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { j.file.Close() })
	return j
}

// holds reads what is new, and returns how many holds there have been so far.
func (j *journal) holds(t *testing.T) int {
	t.Helper()
	more, err := io.ReadAll(j.file)
	if err != nil {
		t.Fatal(err)
	}
	j.text = append(j.text, more...)
	j.lines += bytes.Count(more, []byte("\n"))
	return j.lines / 2
}

// wait waits for n more holds.
func (j *journal) wait(ctx context.Context, t *testing.T, n int) {
	t.Helper()
	n += j.holds(t)
	eventually(ctx, t, 2*time.Minute, fmt.Sprintf("%d holds", n), func() error {
		if there := j.holds(t); there < n {
			return fmt.Errorf("there are %d", there)
		}
		return nil
	})
}

// check checks the journal: there is one holder at a time, and each token is larger than the one
// before.
func (j *journal) check(t *testing.T, log *timeline) {
	t.Helper()
	j.holds(t)
	c := checker{turns: make(map[string]int)}
	for text := range strings.Lines(string(j.text)) {
		if err := c.line(text); err != nil {
			t.Errorf("journal:%d: %v", c.lines, err)
			if c.wrong++; c.wrong == 10 {
				break // more errors would add nothing
			}
		}
	}
	log.event("journal: %d holds by %v, %d changes of hands", c.lines/2, c.turns, c.hands)
	for who := range skews {
		if least := c.lines / 2 / 20; c.turns[who] < least {
			t.Errorf("%s had %d holds, want at least %d, or nothing is shown about its clock", who, c.turns[who], least)
		}
	}
}

// checker is what is known about the holds up to a line of the journal.
type checker struct {
	lines, wrong int
	hands        int            // how often the lock went from one process to another
	turns        map[string]int // holds of each process
	inside       string         // who is inside, with its token
	who          string         // whose hold was the last
	token        int64          // of the last hold
}

func (c *checker) line(text string) error {
	c.lines++
	act, holder, _ := strings.Cut(strings.TrimSpace(text), " ")
	who, number, _ := strings.Cut(holder, " ")
	token, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return err
	}
	inside, lastWho, last := c.inside, c.who, c.token
	if act == "out" {
		c.inside = ""
		if inside != holder {
			return fmt.Errorf("%s is out, but %q was in", holder, inside)
		}
		return nil
	}
	c.inside, c.who, c.token = holder, who, token
	c.turns[who]++
	if who != lastWho {
		c.hands++
	}
	switch {
	case inside != "":
		return fmt.Errorf("%s is in while %s is", holder, inside)
	case token == last:
		return fmt.Errorf("%s has the token of %s before it", holder, lastWho)
	case token < last:
		return fmt.Errorf("%s is %v less than %s %d before it", holder, time.Duration(last-token)*time.Microsecond, lastWho, last)
	}
	return nil
}
