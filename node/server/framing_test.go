package server

import (
	"bytes"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
)

// bombs are replies that end the process if redigo reads them, or take all its memory.
var bombs = map[string]string{
	"length that overflows":     "$9223372036854775807\r\n",
	"negative length":           "$-2\r\n",
	"no length":                 "$-\r\n",
	"string of 8 GB":            "$8000000000\r\n",
	"strings of 540 MB":         "*9\r\n" + strings.Repeat("$60000000\r\n"+strings.Repeat("x", 60e6)+"\r\n", 2),
	"list of 100 million":       "*100000000\r\n",
	"lists of 4 million in all": "*4\r\n" + strings.Repeat("*1000000\r\n"+strings.Repeat(":1\r\n", 1e6), 2),
	"lists in lists":            strings.Repeat("*1\r\n", 1e6),
	"line without an end":       "+" + strings.Repeat("x", 2e6),
	"another protocol":          "HTTP/1.1 400 Bad Request\r\n",
}

// bytesConn is a connection from which bytes are read, at most so many at once.
type bytesConn struct {
	net.Conn
	bytes.Reader
	most int
}

func (c *bytesConn) Read(p []byte) (int, error) { return c.Reader.Read(p[:min(len(p), c.most)]) }

func (c *bytesConn) Close() error { return nil }

func (c *bytesConn) SetReadDeadline(time.Time) error { return nil }

func (c *bytesConn) SetWriteDeadline(time.Time) error { return nil }

// framed returns a connection on which text is read, and checked before redigo sees it.
func framed(text string, most int) redis.Conn {
	b := &bytesConn{most: most}
	b.Reset([]byte(text))
	return redis.NewConn(&framedConn{Conn: b}, 0, 0)
}

// TestFraming: what our commands have as replies passes, in whichever pieces it is read, and nothing that
// would take memory or the stack without bound.
func TestFraming(t *testing.T) {
	info := strings.Repeat("a:b\r\n", 2000)
	good := fmt.Sprintf("+OK\r\n:-1\r\n$-1\r\n*-1\r\n*0\r\n$0\r\n\r\n$%d\r\n%s\r\n-ERR no\r\n"+
		"*3\r\n*2\r\n:1\r\n$1\r\n\n\r\n*0\r\n*1\r\n*1\r\n$2\r\n\r\n\r\n+PONG\r\n", len(info), info)
	const want = "OK -1 <nil> <nil> [] [] [%s] ERR no [[1 [10]] [] [[[13 10]]]] PONG"
	for _, most := range []int{1, 2, 3, 7, 1 << 20} {
		conn := framed(good, most)
		var got []string
		for range 10 {
			reply, err := redis.ReceiveWithTimeout(conn, time.Second)
			if text, ok := reply.([]byte); ok && string(text) == info {
				reply = []string{"%s"}
			} else if err != nil {
				reply = err
			}
			got = append(got, fmt.Sprint(reply))
		}
		check.Equal(t, strings.Join(got, " "), want, "read %d bytes at a time", most)
	}
	for name, bomb := range bombs {
		t.Run(name, func(t *testing.T) {
			conn := framed(bomb, 4096)
			before := allocated()
			_, err := redis.ReceiveWithTimeout(conn, time.Second)
			check.AtMost(t, allocated()-before, mostHeap, "how much it took")
			check.Says(t, err, ErrReply.Error(), "receive")
		})
	}
}

// allocated is how much memory was ever allocated: unlike what is in use, it does not depend on when garbage is
// collected.
func allocated() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.TotalAlloc
}

// mostHeap is how much memory a reply may take, whatever it is, and what is made of it.
const mostHeap = 10 << 20

// countedConn notes what is written, and how often.
type countedConn struct {
	bytesConn
	text   bytes.Buffer
	writes int
}

func (c *countedConn) Write(p []byte) (int, error) {
	c.writes++
	return c.text.Write(p)
}

// TestABatchIsWrittenAtOnce: all of it, wherever redigo's buffer is full, in as few pieces as a master reads it.
func TestABatchIsWrittenAtOnce(t *testing.T) {
	for _, calls := range []int{1, 40, 300} {
		for length := range 64 { // so that some command ends with the buffer
			write := func(ours bool) *countedConn {
				counted, c := new(countedConn), &Conn{server: new(Server)}
				var conn net.Conn = counted
				if ours {
					conn = newFramedConn(holding(t.Context(), c), counted, false)
				}
				c.conn = redis.NewConn(conn, 0, 0)
				words := script.NewOwner(strings.Repeat("k", length), "me:1").Acquire(time.Minute, 1).Words(nil, false)
				for range 2 {
					c.Gather(true)
					for range calls {
						check.OK(t, c.Request(0, words))
					}
					c.Gather(false)
					check.OK(t, c.Flush())
				}
				return counted
			}
			got, plain := write(true), write(false)
			check.Equal(t, got.text.String() == plain.text.String(), true, "%d commands are written whole", calls)
			if most := 2 * (1 + plain.text.Len()/2/mostHeld); got.writes > most {
				t.Fatalf("%d bytes in 2 batches were written in %d pieces, want %d at most", plain.text.Len(), got.writes, most)
			}
		}
	}
}

// TestEachReplyIsBounded: by the command that it answers, in whichever pieces it comes.
func TestEachReplyIsBounded(t *testing.T) {
	text := func(n int) string { return fmt.Sprintf("$%d\r\n%s\r\n", n, strings.Repeat("x", n)) }
	acquire, inspect := script.NewOwner("k", "me:1").Acquire(time.Minute, 1), script.Inspect("k")
	renew := script.Renew(time.Minute, []script.Renewal{{Owner: script.NewOwner("k", "me:1")}, {Owner: script.NewOwner("k", "me:2")}})
	for _, tt := range []struct {
		name  string
		most  int
		reply string
		long  bool
	}{
		{"PING", script.Longest("PING"), "+PONG\r\n", false},
		{"a long PING", script.Longest("PING"), "+" + strings.Repeat("x", 200) + "\r\n", true},
		{"TIME", script.Longest("TIME"), "*2\r\n$10\r\n1795717027\r\n$6\r\n659511\r\n", false},
		{"a TIME of many", script.Longest("TIME"), "*40\r\n" + strings.Repeat(":1\r\n", 40), true},
		{"INFO", script.Longest("INFO"), text(40_000), false},
		{"a long INFO", script.Longest("INFO"), text(70_000), true},
		{"a script", acquire.Longest(), "*3\r\n:12345\r\n" + text(60) + ":4\r\n", false},
		{"a long script", acquire.Longest(), "*3\r\n:12345\r\n" + text(600) + ":4\r\n", true},
		{"inspect", inspect.Longest(), "*64\r\n" + strings.Repeat(text(60), 64), false},
		{"a long inspect", inspect.Longest(), "*64\r\n" + strings.Repeat(text(300), 64), true},
		{"renew with errors", renew.Longest(), "*2\r\n" + strings.Repeat("-ERR "+strings.Repeat("x", 500)+"\r\n", 2), false},
		{"a long error", script.Longest("PING"), "-ERR " + strings.Repeat("x", 4000) + "\r\n", false},
		{"too long an error", script.Longest("INFO"), "-ERR " + strings.Repeat("x", 66_000) + "\r\n", true},
		{"a message", 0, "*3\r\n" + text(7) + text(1050) + text(1200), false},
		{"a long message", 0, "*3\r\n" + text(7) + text(50) + text(5000), true},
	} {
		for _, pieces := range []int{1, 4096} {
			t.Run(fmt.Sprintf("%s, %d bytes at a time", tt.name, pieces), func(t *testing.T) {
				b, c := &bytesConn{most: pieces}, &Conn{server: new(Server)}
				b.Reset([]byte(tt.reply))
				c.conn = redis.NewConn(newFramedConn(holding(t.Context(), c), b, false), time.Second, time.Second)
				if tt.most > 0 {
					c.framed.replies.owed.expect(tt.most)
				}
				_, err := c.Receive()
				if long := contains(err, "too long"); long != tt.long || err != nil && !errors.Is(err, ErrReply) {
					t.Errorf("got %v, want that it is too long: %v", err, tt.long)
				}
			})
		}
	}
}

// TestMemoryOfAReply: no reply within the largest bound takes more memory than it may, whatever it is made of.
func TestMemoryOfAReply(t *testing.T) {
	for name, reply := range map[string]string{
		"a string":       fmt.Sprintf("$%d\r\n%s\r\n", longestOfAny-20, strings.Repeat("x", longestOfAny-20)),
		"numbers":        "*140000\r\n" + strings.Repeat(":1\r\n", 140_000),
		"large numbers":  "*60000\r\n" + strings.Repeat(":1234567890\r\n", 60_000),
		"empty strings":  "*110000\r\n" + strings.Repeat("$0\r\n\r\n", 110_000),
		"empty lists":    "*140000\r\n" + strings.Repeat("*0\r\n", 140_000),
		"lists of lists": "*5000\r\n" + strings.Repeat("*2\r\n*10\r\n"+strings.Repeat(":1\r\n", 10)+"*1\r\n*1\r\n*1\r\n:1\r\n", 5000),
		"errors":         "*70000\r\n" + strings.Repeat("-ERR no\r\n", 70_000),
		"said to be":     "*8\r\n*8\r\n*8\r\n*8\r\n*8\r\n*250000\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn := framed(reply, 4096)
			before := allocated()
			got, err := redis.ReceiveWithTimeout(conn, time.Second)
			_ = Identify(got)
			_, _ = script.ReadUses(got)
			text := fmt.Sprint(script.Inspect("k").Decode(got).Err, script.Renew(time.Minute, []script.Renewal{{Owner: script.NewOwner("k", "me:1")}}).Decode(got).Err, err)
			took := allocated() - before
			check.That(t, took <= mostHeap && len(text) <= 1000, "it took %d kB, and %d bytes are said of it; the error is %v", took>>10, len(text), err)
		})
	}
}

// FuzzFraming: whatever a server sends, redigo does not panic behind a framing, which says the same of it
// in whichever pieces it comes. Nor does what reads the replies.
func FuzzFraming(f *testing.F) {
	for _, bomb := range bombs {
		f.Add([]byte(bomb[:min(len(bomb), 100)]))
	}
	f.Add([]byte("*2\r\n$3\r\nfoo\r\n*1\r\n:5\r\n-ERR\r\n"))
	f.Add([]byte("*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n:5\r\n*3\r\n$9\r\nsubscribe\r\n:1\r\n$1\r\nc\r\n"))
	f.Add([]byte("$41\r\nrun_id:abc\nuptime_in_seconds:-12\nrole:\n:::\n\r\n"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		var whole, split framing
		want := whole.take(sent)
		var got error
		for i := 0; i < len(sent) && got == nil; i++ {
			got = split.take(sent[i : i+1])
		}
		check.Equal(t, fmt.Sprint(got), fmt.Sprint(want), "byte by byte")
		conn := framed(string(sent), len(sent))
		for {
			reply, err := redis.ReceiveWithTimeout(conn, time.Second)
			if _, refused := err.(redis.Error); err != nil && !refused {
				break
			}
			message(reply)
			if id := Identify(reply); id.Uptime < 0 || id.Err == nil && id.Run == "" {
				t.Errorf("Identify(%q): got %+v", reply, id)
			}
		}
	})
}

// BenchmarkFraming: what a framing costs for each reply, as a busy master sends them: 64 to a read.
func BenchmarkFraming(b *testing.B) {
	p := []byte(strings.Repeat("*4\r\n:1\r\n:0\r\n:1732386000000000\r\n:0\r\n", 64))
	b.SetBytes(int64(len(p)))
	var f framing
	for b.Loop() {
		check.OK(b, f.take(p))
	}
}

// TestWhatIsNoReply: whatever the transport is, what no Redis sends is refused before redigo reads it.
func TestWhatIsNoReply(t *testing.T) {
	address := answering(t, "HTTP/1.1 400 Bad Request\r\n")
	secure, trusted := secured(t, address)
	socket := filepath.Join(t.TempDir(), "redis.sock")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip("no Unix sockets here:", err)
	}
	check.Relay(t, listener, address)
	for _, to := range []string{"redis://" + address, "rediss://" + secure, "unix://" + socket} {
		pool, _, err := Dialer{TLS: &tls.Config{RootCAs: trusted}}.Pool(to)
		check.OK(t, err)
		conn := pool.Get()
		if _, err := conn.Do("PING"); !errors.Is(err, ErrReply) {
			t.Errorf("%s: got %v, want %v", to, err, ErrReply)
		}
		conn.Close()
	}
}
