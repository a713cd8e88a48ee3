package check

import (
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Output is what is written to a log, or by a process, and may be read meanwhile.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}

// Lines returns the lines that have all of words.
func (o *Output) Lines(words ...string) []string {
	all := slices.Collect(strings.Lines(o.String()))
	return slices.DeleteFunc(all, func(line string) bool {
		return slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) })
	})
}

// Relay passes what comes to listener on to address, and back. A connection whose handshake of TLS fails leads nowhere.
//
// Goroutines: one, and two or three for each connection. They end with the listener, which ends with the test,
// and with the connections.
func Relay(t testing.TB, listener net.Listener, address string) {
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			go relay(near, address)
		}
	}()
}

// Secure returns an address that leads to another one, with TLS. See [Relay].
func Secure(t testing.TB, config *tls.Config, address string) string {
	t.Helper()
	listener, err := tls.Listen("tcp", "127.0.0.1:0", config)
	OK(t, err)
	Relay(t, listener, address)
	return listener.Addr().String()
}

func relay(near net.Conn, address string) {
	if secure, ok := near.(*tls.Conn); ok && secure.Handshake() != nil {
		_, _ = io.Copy(io.Discard, secure.NetConn()) // or what it is told of the reason might be lost
		near.Close()
		return
	}
	far, err := net.Dial("tcp", address)
	if err != nil {
		near.Close()
		return
	}
	join := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		to.Close()
	}
	go join(near, far)
	join(far, near)
}
