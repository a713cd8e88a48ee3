package check

import (
	"bytes"
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

// Relay passes what comes to listener on to address, and back.
//
// Goroutines: one, and two for each connection. They end with the listener, which ends with the test,
// and with the connections.
func Relay(t testing.TB, listener net.Listener, address string) {
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			near, err := listener.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", address)
			if err != nil {
				near.Close()
				continue
			}
			join := func(to, from net.Conn) {
				_, _ = io.Copy(to, from)
				to.Close()
			}
			go join(near, far)
			go join(far, near)
		}
	}()
}
