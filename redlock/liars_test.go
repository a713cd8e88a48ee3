package redlock_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlocktest"
)

// lie answers each command that begins with a word, in place of the master. asked is the rest of the command.
type lie struct {
	word string // empty: it says so at once, and reads nothing
	says func(to net.Conn, asked string)
}

func always(reply string) func(net.Conn, string) {
	return func(to net.Conn, _ string) { _, _ = io.WriteString(to, reply) }
}

// ofInfo is the word of INFO with an argument, so not of CLIENT INFO.
const ofInfo = "$4\r\nINFO\r\n$"

// info says what a server is.
func info(lines string) func(net.Conn, string) {
	return always(fmt.Sprintf("$%d\r\n%s\r\n\r\n", len(lines)+2, lines))
}

var lies = map[string]lie{
	"4 MB":             {"EVAL", always("$4194304\r\n" + strings.Repeat("\x00", 4<<20) + "\r\n")},
	"a list of 65,536": {"EVAL", always("*65536\r\n" + strings.Repeat("$1\r\nx\r\n", 1<<16))},
	"nil":              {"EVAL", always("$-1\r\n")},
	"a long run id":    {ofInfo, info("run_id:" + strings.Repeat("x", 50_000) + "\r\nuptime_in_seconds:" + strings.Repeat("9", 9000))},
	"an old version":   {ofInfo, info("redis_version:5.0." + strings.Repeat("0", 9000) + "\r\nrun_id:s\r\nrole:master")},
	"a Sentinel":       {ofInfo, info("redis_version:7.0.15\r\nredis_mode:sentinel\r\nrun_id:s\r\nuptime_in_seconds:99999")},
	"refuses scripts":  {"EVAL", always("-UNKILLABLE x\r\n")},
	"refuses the time": {"TIME", always("-NOPERM User locks has no permissions to run the 'time' command\r\n")},
	"hangs up":         {"EVAL", func(to net.Conn, _ string) { to.Close() }},
	"no reading":       {"", func(net.Conn, string) { time.Sleep(time.Minute) }},
	"by drops": {"EVAL", func(to net.Conn, _ string) {
		for _, b := range []byte(":1\r\n") {
			time.Sleep(300 * time.Millisecond)
			_, _ = to.Write([]byte{b})
		}
	}},
	"a flood of messages": {"SUBSCRIBE", func(to net.Conn, asked string) {
		channel := strings.Split(asked, "\r\n")[2] // behind its length
		_, _ = fmt.Fprintf(to, "*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:1\r\n", len(channel), channel)
		message := fmt.Sprintf("*3\r\n$7\r\nmessage\r\n$%d\r\n%s\r\n$3000\r\n%s\r\n", len(channel), channel, strings.Repeat("x", 3000))
		for range 100 {
			time.Sleep(10 * time.Millisecond)
			_, _ = io.WriteString(to, strings.Repeat(message, 100))
		}
	}},
}

// pipeEnd takes deadlines also when the other end of the pipe is closed, as a socket does.
type pipeEnd struct{ net.Conn }

func (p pipeEnd) SetReadDeadline(t time.Time) error {
	_ = p.Conn.SetReadDeadline(t)
	return nil
}

// before returns a connection to m on which the lie is told.
//
// Goroutines: two, which end with it.
func (l lie) before(ctx context.Context, m *redlocktest.Master) (net.Conn, error) {
	truth, err := m.Dial(ctx)
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	go func() { _, _ = io.Copy(far, truth) }()
	go func() {
		defer far.Close()
		defer truth.Close()
		if l.word == "" {
			l.says(far, "")
			return
		}
		asked := make([]byte, 1<<20)
		for {
			n, err := far.Read(asked)
			if err != nil {
				return
			}
			for said := string(asked[:n]); said != ""; {
				first, of, lied := strings.Cut(said, "\r\n"+l.word)
				if !lied {
					_, _ = io.WriteString(truth, said)
					break
				}
				_, _ = io.WriteString(truth, first[:strings.LastIndex(first, "*")])
				time.Sleep(time.Millisecond) // what is true has been said
				l.says(far, of)
				if _, said, lied = strings.Cut(of, "\r\n*"); lied {
					said = "*" + said
				}
			}
		}
	}()
	return pipeEnd{near}, nil
}

// TestLiars: whatever one of three masters answers, locks are taken. No error or log line repeats a long answer in full,
// and Close is not held up. Package node has more lies, and what they may cost.
func TestLiars(t *testing.T) {
	for name, l := range lies {
		for _, n := range []int{3, 1} {
			t.Run(fmt.Sprintf("%s, one of %d", name, n), masters(n, func(t *testing.T, fleet *redlocktest.Fleet) { lieTo(t, fleet, l) }))
		}
	}
}

// lieTo uses the masters of fleet, the first of which lies.
func lieTo(t *testing.T, fleet *redlocktest.Fleet, l lie) {
	log, cfg := new(lines), naming(fleet, "m%d:6379", []int{0, 1, 2}[:len(fleet.Masters())]...)
	truly := cfg.Dial
	cfg.Logger, cfg.Dial = slog.New(slog.NewTextHandler(log, nil)), func(ctx context.Context, network, at string) (net.Conn, error) {
		if at == "m0:6379" {
			return l.before(ctx, fleet.Master(0))
		}
		return truly(ctx, network, at)
	}
	c := open(t, fleet, cfg)
	for i := range 3 {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		hold, err := c.Lock(ctx, fmt.Sprint("x", i))
		if err == nil {
			time.Sleep(time.Second)
			err = hold.Unlock(ctx)
		}
		cancel()
		switch {
		case err == nil:
		case len(cfg.Masters) > 1:
			t.Errorf("Lock or Unlock, with two good masters: %v", err)
		case len(err.Error()) > 1000:
			t.Errorf("an error of %d bytes: %.1000v", len(err.Error()), err)
		}
	}
	began := time.Now()
	_ = c.Close()
	check.AtMost(t, time.Since(began), 2*nodeTimeout+time.Second, "Close took")
	time.Sleep(time.Minute) // for the liar to notice
	all := log.Lines()
	longest := slices.MaxFunc(append(all, ""), func(a, b string) int { return len(a) - len(b) })
	check.That(t, len(all) <= 100 && len(longest) <= 1000, "%d lines in the log, the longest of %d bytes: %.1000s", len(all), len(longest), longest)
}
