package server

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
)

func TestNormalize(t *testing.T) {
	op := func(err error) error { return &net.OpError{Op: "read", Net: "tcp", Err: err} }
	other := errors.New("other")
	for _, tt := range []struct {
		err  error
		want string
	}{
		{op(os.ErrDeadlineExceeded), "no answer in time"},
		{context.DeadlineExceeded, "no answer in time"},
		{fmt.Errorf("dial: %w", context.DeadlineExceeded), "no answer in time"},
		{op(syscall.ETIMEDOUT), "no answer in time"},
		{io.EOF, "connection closed by the master"},
		{io.ErrUnexpectedEOF, "connection closed by the master"},
		{op(syscall.ECONNRESET), "connection closed by the master"},
		{other, "other"},
		{redis.Error("LOADING x"), "LOADING x"},
	} {
		t.Run(tt.err.Error(), func(t *testing.T) {
			got := normalize(tt.err)
			check.Equal(t, got.Error(), tt.want, "plain(%v)", tt.err)
			check.Equal(t, errors.Is(got, context.DeadlineExceeded), false, "plain(%v): matches a context error", tt.err)
		})
	}
}

// TestErrorsQuoteOthers: neither a master nor a client at it chooses lines of an error.
func TestErrorsQuoteOthers(t *testing.T) {
	err := &Error{"m1", redis.Error("ERR \x1b[31m")}
	check.Equal(t, err.Error(), `m1: ERR \x1b[31m`, "Error()")
	record := script.Record{Name: "a\nb", Host: "\x07", PID: 1}
	check.Equal(t, record.String(), `a\nb on \a (pid 1)`, "String()")
}

// TestHeals: what a master says, in the words of the versions that say it, and whether
// waiting helps.
func TestHeals(t *testing.T) {
	const script62 = "ERR Error running script (call to f_0123456789): @user_script:12: "
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{redis.Error("LOADING Redis is loading the dataset in memory"), true},
		{redis.Error("BUSY Redis is busy running a script."), true},
		{redis.Error("OOM command not allowed when used memory > 'maxmemory'. script: 0123, on @user_script:12."), true},
		{redis.Error(script62 + "@user_script: 12: -OOM command not allowed when used memory > 'maxmemory'."), true},
		{redis.Error(script62 + "-MISCONF Errors writing to the AOF file: No space left on device"), true},
		{redis.Error("NOREPLICAS Not enough good replicas to write."), true},
		{redis.Error("READONLY You can't write against a read only replica."), true},
		{redis.Error("MASTERDOWN Link with MASTER is down"), true},
		{redis.Error("CLUSTERDOWN Hash slot not served"), true},
		{redis.Error("TRYAGAIN Multiple keys request during rehashing of slot"), true},
		{redis.Error("ERR max number of clients reached"), true},
		{redis.Error("ERR something that nobody has heard of"), true},
		{&GuardedError{Left: time.Second}, true},
		{&GuardedError{Left: time.Second, Promoted: true}, true},
		{&UnsteadyError{Ahead: time.Second}, true},
		{ErrTimeout, true},
		{ErrReplica, true},
		{fmt.Errorf("%w as m1", ErrSameServer), true},
		{errHungUp, true},
		{errHungUpFirst, true},
		{&net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}, true},
		{&net.DNSError{Err: "no such host", Name: "redis-1"}, true},
		{errors.New("a pool's own error"), true},
		{fmt.Errorf("%w: a line that begins with \"H\"", ErrReply), true},

		{&VersionError{Version: "6.0.16"}, false},
		{script.Meaning("NOTLOCK string"), false},
		{script.Meaning("WRONGTYPE Operation against a key holding the wrong kind of value"), false},
		{redis.Error("WRONGTYPE Operation against a key holding the wrong kind of value script: 0123, on @user_script:12."), false},
		{redis.Error(script62 + "WRONGTYPE Operation against a key holding the wrong kind of value"), false},
		{redis.Error("NOPERM this user has no permissions to run the 'evalsha' command"), false},
		{redis.Error(script62 + "@user_script: 12: The user executing the script can't run this command or subcommand"), false},
		{redis.Error("ERR The user executing the script can't run this command or subcommand script: 0123, on @user_script:12."), false},
		{redis.Error("ERR ACL failure in script: User locks has no permissions to run the 'hset' command script: 0123, on @user_script:12."), false},
		{redis.Error("NOAUTH Authentication required."), false},
		{redis.Error("WRONGPASS invalid username-password pair or user is disabled."), false},
		{redis.Error("ERR AUTH <password> called without any password configured for the default user."), false},
		{redis.Error("DENIED Redis is running in protected mode"), false},
		{redis.Error("ERR unknown command 'EVALSHA', with args beginning with: "), false},
		{redis.Error("ERR Unknown Redis command called from script script: 0123, on @user_script:12."), false},
		{redis.Error(script62 + "@user_script: 12: Unknown Redis command called from Lua script"), false},
		{redis.Error("ERR DB index is out of range"), false},
		{redis.Error("CROSSSLOT Keys in request don't hash to the same slot"), false},
		{redis.Error("MOVED 3999 127.0.0.1:6381"), false},
		{&GuardedError{Left: script.Never, Why: fmt.Errorf("INFO: %w", redis.Error("NOPERM no INFO"))}, false},
		{&GuardedError{Left: script.Never, Why: errors.New("INFO: no run_id")}, false},
		{errPlainPort, false},
		{errTLSPort, false},
		{errConn, false},
		{&tls.CertificateVerificationError{Err: errors.New("x509: certificate signed by unknown authority")}, false},
		{&tls.CertificateVerificationError{Err: x509.CertificateInvalidError{Cert: new(x509.Certificate), Reason: x509.Expired}}, false},
		{&tls.CertificateVerificationError{Err: x509.HostnameError{Certificate: new(x509.Certificate), Host: "m1"}}, false},
	} {
		t.Run(tt.err.Error(), func(t *testing.T) {
			check.Equal(t, Heals(&Error{Node: "m1", Err: tt.err}), tt.want, "Heals(%v)", tt.err)
		})
	}
}

// TestConditionsAreDocumented: the table of docs/troubleshooting.md says what the code does, and the code
// gives the remedies of the table.
func TestConditionsAreDocumented(t *testing.T) {
	checks := check.File(t, "../../docs/doctor.md")
	_, table, _ := strings.Cut(check.File(t, "../../docs/troubleshooting.md"), "| a master says | passes by itself |")
	table, _, _ = strings.Cut(table, "\n\n")
	documented, helps := map[string]bool{}, map[string]string{}
	link := regexp.MustCompile(`\[\w+\]\((\w+\.md#\w+)\)`)
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \| (.*?) \| (.*)`).FindAllStringSubmatch(table, -1) {
		heals := row[2]
		check.That(t, heals == "yes" || heals == "no", "docs/troubleshooting.md: %q is neither yes nor no, of %s", heals, row[1])
		for what := range strings.SplitSeq(row[1], "; ") {
			documented[what] = heals == "yes"
			helps[what] = strings.ReplaceAll(link.ReplaceAllString(row[3], "docs/$1"), "`", "")
		}
	}
	for _, r := range conditions {
		heals, ok := documented[r.what]
		check.That(t, ok && heals == r.heals, "docs/troubleshooting.md: %s: got %v (listed %v), want %v", r.what, heals, ok, r.heals)
		check.That(t, r.remedy != "" && strings.HasPrefix(helps[r.what], r.remedy), "docs/troubleshooting.md: against %s helps %q, but the code says %q", r.what, helps[r.what], r.remedy)
		check.That(t, strings.Contains(checks, "| `"+r.about+"` |"), "docs/doctor.md has no check %q, which is to tell of %s", r.about, r.what)
		delete(documented, r.what)
	}
	for what := range documented {
		t.Errorf("docs/troubleshooting.md lists %s, which the code does not know", what)
	}
}

// expired is what crypto/tls says at a time of a certificate that has expired.
func expired(now string) error {
	return &tls.CertificateVerificationError{Err: errors.New("x509: certificate has expired or is not yet valid: current time " + now)}
}

// TestKind: it stays the same while the time in an error runs, and no longer.
func TestKind(t *testing.T) {
	for _, tt := range []struct {
		name string
		a, b error
		same bool
	}{
		{"guard", &GuardedError{Left: time.Second}, &GuardedError{Left: time.Minute}, true},
		{"promoted", &GuardedError{}, &GuardedError{Promoted: true}, false},
		{"uptime unknown", &GuardedError{}, &GuardedError{Why: errors.New("INFO: no run_id")}, false},
		{"clock", &UnsteadyError{Ahead: time.Second}, &UnsteadyError{Ahead: time.Minute}, true},
		{"certificate", expired("2026-11-21T10:00:00Z"), expired("2026-11-21T10:00:01Z"), true},
		{"code", redis.Error("LOADING 17 %"), redis.Error("LOADING 18 %"), true},
		{"ERR", redis.Error("ERR this"), redis.Error("ERR that"), false},
		{"timeout or reset", ErrTimeout, errHungUp, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, b := Kind(&Error{Node: "m1", Err: tt.a}), Kind(&Error{Node: "m1", Err: tt.b})
			check.Equal(t, a == b, tt.same, "Kind: %q and %q are the same", a, b)
		})
	}
}

// TestTLSMismatch: what a port says that wants TLS, or that does not speak it, is said in words.
func TestTLSMismatch(t *testing.T) {
	for _, tt := range []struct {
		name, scheme string
		answers      string // to whatever is sent first; then the port hangs up
		want         error
	}{
		{"plain to a TLS port", "redis", "\x15\x03\x01\x00\x02\x02\x46", errTLSPort},
		{"plain to a TLS port that hangs up", "redis", "", errHungUpFirst},
		{"TLS to a plain port", "rediss", "-ERR Protocol error: unbalanced quotes in request\r\n", errPlainPort},
		{"plain to a plain port that hangs up later", "redis", "+OK\r\n", errHungUp},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pool, _, err := Dialer{}.Pool(tt.scheme + "://" + answering(t, tt.answers))
			check.OK(t, err)
			defer pool.Close()
			err = func() error {
				conn, err := pool.DialContext(t.Context())
				if err != nil {
					return err
				}
				defer conn.Close()
				if _, err := conn.Do("PING"); err != nil {
					return err
				}
				_, err = conn.Do("PING")
				return err
			}()
			got := normalize(err)
			check.That(t, errors.Is(got, tt.want) && got.Error() == tt.want.Error(), "got %v, want %v", got, tt.want)
		})
	}
}

// answering listens, answers the first bytes of each connection with answer, and hangs up. It
// returns its address.
func answering(t *testing.T, answer string) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	// Goroutines: one, which the end of the test ends by closing the listener.
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.SetDeadline(time.Now().Add(5 * time.Second))
			_, _ = conn.Read(make([]byte, 64<<10))
			_, _ = conn.Write([]byte(answer))
			conn.Close()
		}
	}()
	return listener.Addr().String()
}
