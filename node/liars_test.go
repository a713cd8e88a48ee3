package node

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// speaking returns a pool of connections with a framing, whose other end say has. It hangs up when that returns.
func speaking(t *testing.T, say func(net.Conn)) *redis.Pool {
	t.Helper()
	return dialing(t, func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer far.Close()
			say(far)
		}()
		return pipeEnd{near}, nil
	})
}

// pipeEnd is an end of a pipe that takes deadlines when the other end is closed, as a socket does.
type pipeEnd struct{ net.Conn }

func (p pipeEnd) SetReadDeadline(t time.Time) error {
	_ = p.Conn.SetReadDeadline(t)
	return nil
}

// dialing returns a pool whose connections dial makes.
func dialing(t *testing.T, dial func(ctx context.Context, network, address string) (net.Conn, error)) *redis.Pool {
	t.Helper()
	pool, _, err := Dialer{Dial: dial}.Pool("m1")
	check.OK(t, err)
	return pool
}

// TestLastWords: what a master says before it hangs up is the reason, to callers, in the log and to doctor.
func TestLastWords(t *testing.T) {
	for _, tt := range []struct {
		name, says, want string
		heals            bool
		about            string
	}{
		{"too many clients", "-ERR max number of clients reached\r\n", "ERR max number of clients reached", true, "max-clients"},
		{
			"protected mode", "-DENIED Redis is running in protected mode because protected mode is enabled and no password is set for the default user. " + strings.Repeat("In this mode … ", 50) + "\r\n",
			"DENIED Redis is running in protected mode because", false, "protected-mode",
		},
		{"half a line", "-ERR max number of cl", `connection closed by the master while it said a string of 20 bytes, "ERR max number of cl"`, true, "reachable"},
		{"half a reply", "$100\r\nabc", "connection closed by the master within a reply", true, "reachable"},
		{"nothing", "", errHungUpFirst.Error(), true, "tls"},
	} {
		subtest(t, tt.name, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
			cfg.Pool = speaking(t, func(conn net.Conn) {
				_, _ = conn.Read(make([]byte, 4096))
				_, _ = io.WriteString(conn, tt.says)
			})
			log := logged(&cfg)
			n := start(t, cfg)
			got := sendAndWait(n, script.Inspect("k"))
			wantErr(t, "inspect", got, script.Unsent, tt.want)
			check.That(t, Heals(got.Err) == tt.heals && len(n.Error(got.Err).Error()) <= 500, "Heals(%v): got %v, want %v, in few words", got.Err, Heals(got.Err), tt.heals)
			time.Sleep(10 * time.Second)
			if want := "master is down"; tt.heals {
				log.want(t, 1, want)
			}
			f := probed(t.Context(), cfg)
			if !contains(f.Err, tt.want) || About(f.Err) != tt.about || f.Reached {
				t.Errorf("probe: got %v, about %q, reached %v; want %q, about %q", f.Err, About(f.Err), f.Reached, tt.want, tt.about)
			}
		})
	}
}

// TestNoRoomForTheScripts: a master that reads no further than its greeting is given up, and tried again.
func TestNoRoomForTheScripts(t *testing.T) {
	bubble(t, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
		const info = "$23\r\nrun_id:a\r\nrole:master\r\n\r\n"
		missing := len(loads(t))
		greeted := info + info + "+id=7\r\n+PONG\r\n*2\r\n:1795717027\r\n:1\r\n" +
			fmt.Sprintf("*%d\r\n", missing) + strings.Repeat(":0\r\n", missing)
		var dialed atomic.Int32
		cfg.Pool = speaking(t, func(conn net.Conn) {
			dialed.Add(1)
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, greeted)
			_, _ = io.WriteString(conn, "+\r\n") // which nobody reads: it waits for the end of the connection
		})
		n := start(t, cfg)
		time.Sleep(10 * time.Second)
		wantErr(t, "inspect", sendAndWait(n, script.Inspect("k")), script.Unsent, ErrTimeout.Error())
		check.AtLeast(t, dialed.Load(), 3, "connections in 10 s")
	})
}

// TestKnownPort: a port on which the master has answered before needs no other scheme.
func TestKnownPort(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var hangsUp atomic.Bool
		cfg.Pool = dialing(t, func(ctx context.Context, _, _ string) (net.Conn, error) {
			if hangsUp.Load() {
				near, far := net.Pipe()
				go func() {
					_, _ = far.Read(make([]byte, 4096))
					far.Close()
				}()
				return pipeEnd{near}, nil
			}
			return m.Dial(ctx)
		})
		n := started(t, cfg)
		hangsUp.Store(true)
		m.KillClients()
		time.Sleep(2 * time.Second)
		check.Equal(t, n.Ready(), errHungUp, "Ready")
	})
}

// TestErrorsOfFunctionsOfTheCaller: they are passed on in their own words, whatever they match, and heal.
func TestErrorsOfFunctionsOfTheCaller(t *testing.T) {
	blocked := func(ctx context.Context) error {
		<-ctx.Done()
		return fmt.Errorf("vault: %w", ctx.Err())
	}
	says := func(err error) func(context.Context) error { return func(context.Context) error { return err } }
	for name, f := range map[string]func(context.Context) error{
		"end of file":             says(fmt.Errorf("vault: %w", io.EOF)),
		"deadline":                says(fmt.Errorf("vault: %w", context.DeadlineExceeded)),
		"its certificate":         says(fmt.Errorf("vault: %w", &tls.CertificateVerificationError{Err: errors.New("x509: unknown authority")})),
		"a refusal":               says(fmt.Errorf("vault: %w", redis.Error("NOPERM no"))),
		"an error of package net": says(fmt.Errorf("vault: %w", &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("x")})),
		"no answer in time":       blocked,
	} {
		for what, dialer := range map[string]Dialer{
			noCredentials: {Credentials: func(ctx context.Context, _ string) (string, string, error) { return "", "", f(ctx) }},
			noConnection:  {Dial: func(ctx context.Context, _, _ string) (net.Conn, error) { return nil, f(ctx) }},
		} {
			subtest(t, name+", "+what, func(t *testing.T, _ *redlocktest.Master, cfg Config) {
				var err error
				if cfg.Pool, _, err = dialer.Pool("m1"); err != nil {
					t.Fatal(err)
				}
				n := start(t, cfg)
				time.Sleep(5 * time.Second)
				got := n.Ready()
				if !contains(got, what) || !contains(got, "vault: ") || !Heals(got) || Remedy(got) == "" {
					t.Errorf("Ready: got %v, which heals: %v; want what the function said, and that it does", got, Heals(got))
				}
				check.Equal(t, errors.Is(got, context.DeadlineExceeded) || errors.Is(got, context.Canceled), false, "%v matches the error of a context", got)
				check.Equal(t, errors.Is(got, ErrTimeout), name == "no answer in time", "%v is a timeout", got)
				check.Says(t, probed(t.Context(), cfg).Err, "vault: ", "probe")
			})
		}
	}
}

// TestNoMaster: a Sentinel, a node of a cluster and a Redis that is too old answer much as a master does, and are refused by
// name, before they are asked for anything.
func TestNoMaster(t *testing.T) {
	for _, tt := range []struct {
		info  string
		want  error
		about string
	}{
		{"redis_version:7.0.15\r\nredis_mode:sentinel\r\nrun_id:a\r\nuptime_in_seconds:99999\r\n", errSentinel, "role"},
		{"redis_version:6.0.16\r\nrun_id:a\r\nuptime_in_seconds:99999\r\n", &VersionError{"6.0.16"}, "version"},
		{"redis_version:7.2.5\r\nredis_mode:cluster\r\nrun_id:a\r\nuptime_in_seconds:99999\r\nrole:master\r\n", errCluster, "cluster"},
		{"redis_version:7.2.4\r\nvalkey_version:8.1.0\r\nserver_mode:cluster\r\nrun_id:a\r\nuptime_in_seconds:99999\r\nrole:master\r\n", errCluster, "cluster"},
	} {
		subtest(t, tt.want.Error(), func(t *testing.T, m *redlocktest.Master, cfg Config) {
			wanted := func(err error) bool { return reflect.DeepEqual(err, tt.want) }
			cfg.Pool = withReply(cfg.Pool, "INFO", []byte(tt.info))
			log := logged(&cfg)
			n := start(t, cfg)
			got := sendAndWait(n, script.Inspect("k"))
			if got.Outcome != script.Unsent || !wanted(got.Err) || !wanted(n.Ready()) || Heals(got.Err) {
				t.Errorf("inspect: got %v (%v), which heals: %v; want %v, for good", got.Outcome, got.Err, Heals(got.Err), tt.want)
			}
			time.Sleep(10 * time.Second)
			log.want(t, 1, "master is refused", tt.want.Error())
			check.Equal(t, scriptCalls(m), 0, "scripts that it was sent")
			if t.Failed() {
				return // a probe of what is no master would go on
			}
			f := probed(t.Context(), cfg)
			check.That(t, wanted(f.Err) && About(f.Err) == tt.about, "probe: got %v, about %q; want %v, about %q", f.Err, About(f.Err), tt.want, tt.about)
		})
	}
}

// TestPingWithoutPong: who answers PING with anything else answers something else than what it was asked.
func TestPingWithoutPong(t *testing.T) {
	for _, reply := range []any{"OK", []byte("PANG"), int64(1), []any{[]byte("pong"), []byte("")}} {
		subtest(t, fmt.Sprintf("%q", reply), func(t *testing.T, _ *redlocktest.Master, cfg Config) {
			var lies atomic.Bool
			cfg.Pool = withBentConns(cfg.Pool, &bendRules{reply: func(words string) any {
				if words == "PING" && lies.Load() {
					return reply
				}
				return nil
			}})
			n := started(t, cfg)
			lies.Store(true)
			time.Sleep(5 * time.Second)
			got := n.Ready()
			check.That(t, errors.Is(got, errReply) && contains(got, "PING"), "Ready: got %v, want that its PING is wrong", got)
			lies.Store(false)
			waitUntil(t, time.Second, n.isUp)
		})
	}
}

// TestUnaskedReply: a reply that nobody asked for is not written out, however long it is.
func TestUnaskedReply(t *testing.T) {
	withNode(t, func(t *testing.T, _ *redlocktest.Master, n *Node) {
		n.mu.Lock()
		defer n.mu.Unlock()
		l := n.link
		reply := slices.Repeat([]any{[]byte(strings.Repeat("x", 1e6))}, 100)
		before := allocated()
		n.receiveLocked(l, nil, reply, nil)
		took := allocated() - before
		check.That(t, took <= 10_000 && len(l.err().Error()) <= 300, "what is said of it takes %d bytes of memory: %.500v", took, l.err())
	})
}

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

func (c *bytesConn) Read(p []byte) (int, error)       { return c.Reader.Read(p[:min(len(p), c.most)]) }
func (c *bytesConn) Close() error                     { return nil }
func (c *bytesConn) SetReadDeadline(time.Time) error  { return nil }
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
			check.Says(t, err, errReply.Error(), "receive")
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
				c, w := new(countedConn), new(wire)
				var conn net.Conn = c
				if ours {
					conn = newFramedConn(holding(t.Context(), w), c, false)
				}
				w.conn = redis.NewConn(conn, 0, 0)
				n, l := new(Node), &link{wire: w}
				for range 2 {
					batch := make([]call, calls)
					for i := range batch {
						batch[i] = call{cmd: script.NewOwner(strings.Repeat("k", length), "me:1").Acquire(lease, 1)}
					}
					n.send(l, batch)
				}
				return c
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
	acquire, inspect := script.NewOwner("k", "me:1").Acquire(lease, 1), script.Inspect("k")
	renew := script.Renew(lease, []script.Renewal{{Owner: script.NewOwner("k", "me:1")}, {Owner: script.NewOwner("k", "me:2")}})
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
				b, w := &bytesConn{most: pieces}, new(wire)
				b.Reset([]byte(tt.reply))
				w.conn = redis.NewConn(newFramedConn(holding(t.Context(), w), b, false), time.Second, time.Second)
				if tt.most > 0 {
					w.framed.replies.owed.expect(tt.most)
				}
				_, err := w.receive()
				if _, refused := err.(redis.Error); refused {
					err = nil
				}
				if long := contains(err, "too long"); long != tt.long || err != nil && !errors.Is(err, errReply) {
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
			_ = identify(got)
			_, _ = script.ReadUses(got)
			text := fmt.Sprint(script.Inspect("k").Decode(got).Err, script.Renew(lease, []script.Renewal{{Owner: ownerNumber(1)}}).Decode(got).Err, err)
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
			if id := identify(reply); id.uptime < 0 || id.err == nil && id.run == "" {
				t.Errorf("identify(%q): got %+v", reply, id)
			}
		}
	})
}

// TestPanicOfAConnection: the reader survives a connection that panics, in the handshake and later.
func TestPanicOfAConnection(t *testing.T) {
	for _, at := range []string{"INFO server", "EVAL", "SUBSCRIBE"} {
		subtest(t, at, func(t *testing.T, m *redlocktest.Master, cfg Config) {
			var well atomic.Bool
			cfg.Pool = withBentConns(cfg.Pool, &bendRules{reply: func(words string) any {
				if strings.HasPrefix(words, at) && !well.Load() {
					panic("makeslice: len out of range")
				}
				return nil
			}})
			n := start(t, cfg)
			n.Subscribe("a", new(recorder))
			got := sendAndWait(n, script.Inspect("k"))
			if at != "SUBSCRIBE" && !contains(got.Err, "makeslice") {
				t.Errorf("inspect: got %v (%v), want the reason", got.Outcome, got.Err)
			}
			well.Store(true)
			waitUntil(t, time.Second, n.isUp)
			want(t, "afterwards", sendAndWait(n, script.Inspect("k")), script.Done)
		})
	}
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
		if _, err := conn.Do("PING"); !errors.Is(err, errReply) {
			t.Errorf("%s: got %v, want %v", to, err, errReply)
		}
		conn.Close()
	}
}
