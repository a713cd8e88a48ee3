package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// trace is what the masters were asked, as MONITOR tells it. A nil trace has nothing and tells nothing.
type trace struct {
	conns   []redis.Conn
	reading sync.WaitGroup

	mu    sync.Mutex
	lines []line
}

// line is one command.
type line struct {
	at     time.Time // by the master's clock, which is this machine's
	master int       // from 1
	text   string    // who sent it, and the command with its arguments
}

// trace begins to listen, or returns nil if nobody wants to hear. close ends it.
func (e *env) trace() (*trace, error) {
	if e.details == nil {
		return nil, nil
	}
	t := new(trace)
	for i, m := range e.fleet.masters {
		conn, err := redis.Dial("tcp", m.address)
		if err != nil {
			t.close()
			return nil, err
		}
		t.conns = append(t.conns, conn)
		if _, err := conn.Do("MONITOR"); err != nil {
			t.close()
			return nil, err
		}
		// Goroutines: one per master. Each ends when close closes its connection; close waits for them.
		t.reading.Go(func() { t.read(i+1, conn) })
	}
	return t, nil
}

func (t *trace) read(master int, conn redis.Conn) {
	for {
		text, err := redis.String(conn.Receive())
		if err != nil {
			return
		}
		if l, err := parseLine(master, text); err == nil {
			t.mu.Lock()
			t.lines = append(t.lines, l)
			t.mu.Unlock()
		}
	}
}

// parseLine reads a line of MONITOR: seconds since 1970, who sent the command, and the command.
func parseLine(master int, text string) (line, error) {
	stamp, text, _ := strings.Cut(text, " ")
	whole, micros, _ := strings.Cut(stamp, ".")
	seconds, err1 := strconv.ParseInt(whole, 10, 64)
	parts, err2 := strconv.ParseInt(micros, 10, 64)
	return line{time.Unix(seconds, 1000*parts), master, text}, errors.Join(err1, err2)
}

// tell writes to out what happened, and what the masters were asked from begin to end, with times
// since begin.
func (t *trace) tell(out io.Writer, what string, begin, end time.Time) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	fmt.Fprintln(out, what)
	slices.SortStableFunc(t.lines, func(a, b line) int { return a.at.Compare(b.at) })
	for _, l := range t.lines {
		// The masters' times are cut to microseconds.
		if since := l.at.Sub(begin.Truncate(time.Microsecond)); since >= -margin && l.at.Before(end) {
			fmt.Fprintf(out, "\t%9.3f ms  master %d  %s\n", millis(since), l.master, l.text)
		}
	}
}

// margin is how long before something began tell begins.
const margin = time.Millisecond

func (t *trace) close() {
	if t == nil {
		return
	}
	for _, conn := range t.conns {
		_ = conn.Close()
	}
	t.reading.Wait()
}
