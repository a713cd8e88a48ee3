package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// journal is a file to which holders append lines while they have the lock, or a permit, so that the
// lines of a slot are in the order of its holds: "in slot who token" and "out slot who token".
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

// served waits until a process has had the lock.
func (j *journal) served(ctx context.Context, t *testing.T, who string) {
	t.Helper()
	eventually(ctx, t, 30*time.Second, who+" has had the lock", func() error {
		j.holds(t)
		if !slices.Contains(strings.Fields(string(j.text)), who) {
			return errors.New("it has not")
		}
		return nil
	})
}

// check checks the journal: there are so many slots at most, each has one holder at a time, and each
// token of a slot is larger than the one before. It returns what it found.
func (j *journal) check(t *testing.T, log *timeline, slots int) checker {
	t.Helper()
	j.holds(t)
	c := checker{slots: make([]slot, slots), turns: make(map[string]int)}
	for text := range strings.Lines(string(j.text)) {
		if err := c.line(text); err != nil {
			t.Errorf("journal:%d: %v", c.lines, err)
			if c.wrong++; c.wrong == 10 {
				break // more errors would add nothing
			}
		}
	}
	log.event("journal: %d holds by %v, %d changes of hands, at most %d inside", c.lines/2, c.turns, c.hands, c.most)
	return c
}

// checker is what is known about the holds up to a line of the journal.
type checker struct {
	lines, wrong int
	hands        int            // how often a slot went from one process to another
	turns        map[string]int // holds of each process
	slots        []slot         // a lock has one
	inside, most int            // how many are inside, and how many were at a time
}

type slot struct {
	inside string // who is inside, with its token
	who    string // whose hold was the last
	token  int64  // of the last hold
}

func (c *checker) line(text string) error {
	c.lines++
	act, rest, _ := strings.Cut(strings.TrimSpace(text), " ")
	place, holder, _ := strings.Cut(rest, " ")
	who, number, _ := strings.Cut(holder, " ")
	i, err := strconv.Atoi(place)
	if err != nil {
		return err
	}
	token, err := strconv.ParseInt(number, 10, 64)
	if err != nil {
		return err
	}
	if i < 0 || i >= len(c.slots) {
		return fmt.Errorf("%s has slot %d of %d", holder, i, len(c.slots))
	}
	s := &c.slots[i]
	last := *s
	if act == "out" {
		s.inside = ""
		c.inside--
		if last.inside != holder {
			return fmt.Errorf("%s is out of slot %d, but %q was in", holder, i, last.inside)
		}
		return nil
	}
	*s = slot{inside: holder, who: who, token: token}
	c.turns[who]++
	c.inside++
	c.most = max(c.most, c.inside)
	if who != last.who {
		c.hands++
	}
	switch {
	case last.inside != "":
		return fmt.Errorf("%s is in slot %d while %s is", holder, i, last.inside)
	case token == last.token:
		return fmt.Errorf("%s has the token of %s before it in slot %d", holder, last.who, i)
	case token < last.token:
		return fmt.Errorf("%s is %v less than %s %d before it in slot %d", holder, time.Duration(last.token-token)*time.Microsecond, last.who, last.token, i)
	}
	return nil
}
