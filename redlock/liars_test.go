package redlock_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
)

// liar is a server that answers as a master does that grants everything, and lies.
type liar struct {
	accept func(s *lie) bool                 // what it does with a connection; false: goes on as usual
	reply  func(s *lie, words []string) said // nil: the truth
}

// said writes a reply, a part at a time, so that the liar needs no memory for it.
type said func(s *lie) error

// lie is a connection to a liar.
type lie struct {
	net.Conn
	of         *liar
	address    string
	gone       <-chan struct{} // closed when the client has closed the connection
	subscribed int
}

// callerEnd is a client's end of a connection.
type callerEnd struct {
	net.Conn
	once sync.Once
	gone chan struct{}
}

func (c *callerEnd) Close() error {
	c.once.Do(func() { close(c.gone) })
	return c.Conn.Close()
}

// SetReadDeadline does not fail where the other end is closed, as that of a socket does not.
func (c *callerEnd) SetReadDeadline(t time.Time) error {
	_ = c.Conn.SetReadDeadline(t)
	return nil
}

// dial connects to the liar.
//
// Goroutines: two for each connection, which end with it.
func (l *liar) dial(address string) net.Conn {
	near, far := net.Pipe()
	end := &callerEnd{Conn: near, gone: make(chan struct{})}
	s := &lie{Conn: far, of: l, address: address, gone: end.gone}
	go func() {
		defer far.Close()
		if l.accept == nil || !l.accept(s) {
			s.serve()
		}
	}()
	return end
}

// serve answers until the connection ends. Commands are read while replies are written, as a socket's buffers
// allow.
func (s *lie) serve() {
	replies := make(chan said, 10_000)
	go func() {
		defer close(replies)
		r := bufio.NewReader(s)
		for {
			words, err := readWords(r)
			if err != nil {
				return
			}
			var reply said
			if s.of.reply != nil {
				reply = s.of.reply(s, words)
			}
			if reply == nil {
				reply = text(s.truth(words))
			}
			replies <- reply
		}
	}()
	var err error
	for reply := range replies {
		if err == nil {
			if err = reply(s); err != nil {
				s.Close()
			}
		}
	}
}

func readWords(r *bufio.Reader) ([]string, error) {
	number := func(kind byte) (int, error) {
		line, err := r.ReadString('\n')
		if err != nil || line[0] != kind {
			return 0, errors.Join(err, fmt.Errorf("a line %q", line))
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	n, err := number('*')
	words := make([]string, n)
	for i := range words {
		length, e := number('$')
		word := make([]byte, length+2)
		_, e2 := io.ReadFull(r, word)
		if err = errors.Join(err, e, e2); err != nil {
			return nil, err
		}
		words[i] = string(word[:length])
	}
	return words, err
}

func bulk(text string) string { return fmt.Sprintf("$%d\r\n%s\r\n", len(text), text) }

// truth is what a good master answers.
func (s *lie) truth(words []string) string {
	switch strings.ToUpper(words[0]) {
	case "INFO":
		return bulk("redis_version:7.2.5\r\nredis_mode:standalone\r\nrun_id:" + s.address + "\r\nuptime_in_seconds:99999\r\nrole:master\r\nmaster_replid:a\r\n")
	case "CLIENT":
		return ":7\r\n"
	case "PING":
		if s.subscribed > 0 {
			return "*2\r\n$4\r\npong\r\n$0\r\n\r\n"
		}
		return "+PONG\r\n"
	case "TIME":
		now := time.Now()
		return "*2\r\n" + bulk(strconv.FormatInt(now.Unix(), 10)) + bulk(strconv.Itoa(now.Nanosecond()/1000))
	case "SCRIPT": // EXISTS
		return fmt.Sprintf("*%d\r\n", len(words)-2) + strings.Repeat(":1\r\n", len(words)-2)
	case "EVAL", "EVALSHA":
		if words[2] == "0" { // a renewal
			return "*1\r\n:1\r\n"
		}
		return ":1\r\n"
	case "SUBSCRIBE":
		var all strings.Builder
		for _, channel := range words[1:] {
			s.subscribed++
			all.WriteString("*3\r\n" + bulk("subscribe") + bulk(channel) + fmt.Sprintf(":%d\r\n", s.subscribed))
		}
		return all.String()
	}
	return "+OK\r\n"
}

// text says what it is given.
func text(what string) said {
	return func(s *lie) (err error) {
		_, err = io.CopyBuffer(s, struct{ io.Reader }{strings.NewReader(what)}, make([]byte, 4096))
		return err
	}
}

// then says one thing after the other.
func then(all ...said) said {
	return func(s *lie) (err error) {
		for _, what := range all {
			if err = errors.Join(err, what(s)); err != nil {
				return err
			}
		}
		return nil
	}
}

// repeated says what n times, or until nobody reads it.
func repeated(n int, what string) said {
	return func(s *lie) error {
		many := max(1, min(n, 4096/len(what)))
		block := []byte(strings.Repeat(what, many))
		for left := n; left > 0; left -= many {
			if _, err := s.Write(block[:min(left, many)*len(what)]); err != nil {
				return err
			}
		}
		return nil
	}
}

// long is a string of n bytes, made of what.
func long(n int, what string) said {
	return then(text(fmt.Sprintf("$%d\r\n", n)), repeated(n/len(what), what), repeated(n%len(what), "x"), text("\r\n"))
}

// list is a list of n elements, each of which is what.
func list(n int, what string) said { return then(text(fmt.Sprintf("*%d\r\n", n)), repeated(n, what)) }

func hangUp(s *lie) error {
	s.Close()
	return net.ErrClosed
}

func silence(*lie) error { return nil }

// slowly says what, a byte at a time.
func slowly(what string, pause time.Duration) said {
	return func(s *lie) error {
		for i := range len(what) {
			time.Sleep(pause)
			if _, err := io.WriteString(s, what[i:i+1]); err != nil {
				return err
			}
		}
		return nil
	}
}

// to has a liar answer commands that begin so with what.
func to(begin string, what said) *liar {
	return &liar{reply: func(_ *lie, words []string) said {
		if strings.HasPrefix(strings.ToUpper(strings.Join(words[:min(len(words), 2)], " ")), begin) {
			return what
		}
		return nil
	}}
}

// atFirst has a liar say what to each connection, and hang up.
func atFirst(what said) *liar {
	return &liar{accept: func(s *lie) bool {
		_ = what(s)
		return true
	}}
}

// liars are all.
func liars() map[string]*liar {
	all := map[string]*liar{}
	for _, why := range []string{
		"LOADING Redis is loading the dataset in memory", "BUSY Redis is busy running a script.", "MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381",
		"READONLY You can't write against a read only replica.", "OOM command not allowed when used memory > 'maxmemory'.", "NOAUTH Authentication required.",
		"NOPERM User locks has no permissions to run the 'evalsha' command", "MASTERDOWN Link with MASTER is down", "TRYAGAIN Multiple keys request",
		"CLUSTERDOWN Hash slot not served", "MISCONF Redis is configured to save RDB snapshots", "NOREPLICAS Not enough good replicas to write.",
		"ERR max number of clients reached", "DENIED Redis is running in protected mode", "ERR \x1b[31mred\x1b]0;owned\a\xff",
		"WRONGTYPE Operation against a key", "UNKILLABLE x", "", " ", "NOTLOCK hash 2", "NOTLOCK " + strings.Repeat("y", 3000),
		"ERR " + strings.Repeat("x", 60_000), "ERR " + strings.Repeat("x", 1_000_000),
	} {
		all[fmt.Sprintf("always %.20q of %d", why, len(why))] = to("", text("-"+why+"\r\n"))
		all[fmt.Sprintf("scripts %.20q of %d", why, len(why))] = to("EVAL", text("-"+why+"\r\n"))
	}
	for what, reply := range map[string]said{
		"a word":              text("+OK\r\n"),
		"nil":                 text("$-1\r\n"),
		"a nil list":          text("*-1\r\n"),
		"an empty list":       text("*0\r\n"),
		"a negative number":   text(":-5\r\n"),
		"2^60":                text(":1152921504606846976\r\n"),
		"too large a number":  text(":99999999999999999999999\r\n"),
		"4 MB":                long(4<<20, "\x00"),
		"60 MB of lines":      long(60<<20, "a:b\n"),
		"1 GB, so it says":    text("$1000000000\r\n"),
		"a list of 65,536":    list(1<<16, "$1\r\nx\r\n"),
		"a list of 4 million": list(4e6, ":1\r\n"),
		"so many, it says":    text("*2147483647\r\n"),
		"lists in lists":      repeated(1e6, "*1\r\n"),
		"a line without end":  then(text("+"), repeated(60<<20, "x")),
		"a holder of 1 MB":    then(text("*5\r\n:0\r\n:0\r\n:5000\r\n"), long(1<<20, "x"), text(":0\r\n")),
		"a list of weird":     text("*3\r\n*-1\r\n*1\r\n$-1\r\n-ERR " + strings.Repeat("x", 300) + "\r\n"),
		"a push":              text(">2\r\n+a\r\n+b\r\n"),
		"a map":               text("%1\r\n+a\r\n+b\r\n"),
		"two replies":         text(":1\r\n:1\r\n"),
		"nothing":             silence,
		"the end":             hangUp,
		"half, and the end":   then(text("$100\r\nabc"), hangUp),
	} {
		for _, begin := range []string{"EVAL", "INFO SERVER", "INFO REPLICATION", "PING", "TIME", "CLIENT INFO", "SUBSCRIBE"} {
			all[begin+": "+what] = to(begin, reply)
		}
	}
	all["by drops"] = to("EVAL", slowly(":1\r\n", 300*time.Millisecond))
	all["a Sentinel"] = to("INFO", text(bulk("redis_version:7.0.15\r\nredis_mode:sentinel\r\nrun_id:s\r\nuptime_in_seconds:99999\r\n")))
	all["a replica"] = to("INFO", text(bulk("redis_version:7.0.15\r\nrun_id:s\r\nrole:slave\r\nuptime_in_seconds:99999\r\n")))
	all["an old version"] = to("INFO", text(bulk("redis_version:5.0."+strings.Repeat("0", 9000)+"\r\nrun_id:s\r\nrole:master\r\n")))
	all["a long run id"] = to("INFO", text(bulk("run_id:"+strings.Repeat("x", 50_000)+"\r\nuptime_in_seconds:"+strings.Repeat("9", 9000)+"\r\n")))
	all["a year"] = to("TIME", text("*2\r\n$10\r\n7258118400\r\n$1\r\n0\r\n"))
	for what, says := range map[string]said{
		"the end":          silence,
		"too many clients": then(text("-ERR max number of clients reached\r\n"), hangUp),
		"protected mode":   then(text("-DENIED Redis is running in protected mode "+strings.Repeat("because ", 100)+"\r\n"), hangUp),
		"another protocol": text("HTTP/1.1 400 Bad Request\r\nServer: " + strings.Repeat("x", 9000) + "\r\n\r\n"),
		"a banner":         then(list(20, "*50\r\n"+strings.Repeat("$1\r\nx\r\n", 50)), silence),
		"many words":       repeated(1e6, "+x\r\n"),
		"no reading":       func(s *lie) error { <-s.gone; return nil },
		"no answer": func(s *lie) error {
			_, err := io.Copy(io.Discard, s)
			return err
		},
	} {
		all["at first "+what] = atFirst(says)
	}
	all["a flood of messages"] = &liar{reply: func(s *lie, words []string) said {
		if words[0] != "SUBSCRIBE" {
			return nil
		}
		message := "*3\r\n" + bulk("message") + bulk(words[1]) + bulk(strings.Repeat("x", 3000))
		return then(text(s.truth(words)), func(s *lie) error {
			for range 100 {
				time.Sleep(10 * time.Millisecond)
				if err := repeated(100, message)(s); err != nil {
					return err
				}
			}
			return nil
		})
	}}
	return all
}

// longestLine keeps the longest line of a log, and counts all.
type longestLine struct {
	mu    sync.Mutex
	count int
	line  []byte
}

func (l *longestLine) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.count++; len(line) > len(l.line) {
		l.line = bytes.Clone(line)
	}
	return len(line), nil
}

// TestLiarsLong: a master may answer anything. Of three it keeps the others from nothing; and alone or not, no reply
// takes more than 10 MB, is written out in full, or holds up Close.
//
// What the heap has from the system does not shrink, so a peak is seen in it afterwards, whenever garbage is
// collected.
func TestLiarsLong(t *testing.T) {
	all := liars()
	if len(all) < 90 {
		t.Fatalf("%d liars, want 90", len(all))
	}
	for range 3 {
		lieTo(t, new(liar), 3)
	}
	defer debug.SetGCPercent(debug.SetGCPercent(10))
	runtime.GC()
	before, most := heapTaken(), int64(0)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, n := range []int{3, 1} {
			t.Run(fmt.Sprintf("%s, one of %d", name, n), func(t *testing.T) {
				lieTo(t, all[name], n)
				if took := heapTaken() - before; took > 10<<20 {
					t.Errorf("the heap has grown by %d MB", took>>20)
					before += took
				}
				most = max(most, heapTaken()-before)
			})
		}
	}
	t.Logf("%d kB at first, at most %d kB more", before>>10, most>>10)
}

func heapTaken() int64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapSys)
}

// lieTo uses n masters, the first of which is l.
func lieTo(t *testing.T, l *liar, n int) {
	synctest.Test(t, func(t *testing.T) {
		servers := map[string]*liar{"m0:6379": l, "m1:6379": {}, "m2:6379": {}}
		log := new(longestLine)
		c, err := redlock.New(redlock.Config{
			Masters: []string{"m0", "m1", "m2"}[:n],
			Dial: func(_ context.Context, _, address string) (net.Conn, error) {
				return servers[address].dial(address), nil
			},
			RestartGuard: redlock.GuardOff,
			Logger:       slog.New(slog.NewTextHandler(log, nil)),
		})
		check.OK(t, err)
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
			case n > 1:
				t.Errorf("Lock or Unlock, with two good masters: %v", err)
			case len(err.Error()) > 1000:
				t.Errorf("an error of %d bytes: %.1000v", len(err.Error()), err)
			}
		}
		began := time.Now()
		_ = c.Close()
		if took := time.Since(began); took > 2*nodeTimeout+time.Second {
			t.Errorf("Close took %v", took)
		}
		time.Sleep(time.Minute) // for the liar to notice
		if log.count > 100 || len(log.line) > 1000 {
			t.Errorf("%d lines in the log, the longest of %d bytes: %.1000s", log.count, len(log.line), log.line)
		}
	})
}
