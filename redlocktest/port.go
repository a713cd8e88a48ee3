package redlocktest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"
)

// A tcpPort is a loopback port that outlives the processes that listen on it: in between nobody else gets
// it, or a client of a dead master would talk to one of another fleet. The zero value is no port.
type tcpPort struct {
	addr     string
	listener net.Listener // nil while nobody listens
	release  func()       // gives back the port that is kept meanwhile, nil if none is
}

// url returns the TCP address of m, and listens on it from the first call on.
func (m *Master) url() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.port.addr == "" && !m.closed {
		m.port.addr = "127.0.0.1:0"
		m.port.open(m.accept)
		if m.proc == nil {
			m.port.close()
		}
	}
	return "redis://" + m.port.addr
}

// open listens and passes the listener to serve. It panics if it cannot listen, as
// httptest.NewServer does.
func (p *tcpPort) open(serve func(net.Listener)) {
	p.free()
	l, err := net.Listen("tcp", p.addr)
	// Another process may have taken the port of a dead master for a moment.
	for tries := 0; errors.Is(err, syscall.EADDRINUSE) && tries < 50; tries++ {
		time.Sleep(20 * time.Millisecond)
		l, err = net.Listen("tcp", p.addr)
	}
	if err != nil {
		panic(fmt.Sprintf("redlocktest: %v", err))
	}
	p.addr, p.listener = l.Addr().String(), l
	serve(l)
}

// reopen listens again on a port that was opened before.
func (p *tcpPort) reopen(serve func(net.Listener)) {
	if p.addr != "" {
		p.open(serve)
	}
}

func (p *tcpPort) close() {
	if p.listener != nil {
		port := p.listener.Addr().(*net.TCPAddr).Port
		p.listener.Close()
		p.listener = nil
		p.release = reserve(port)
	}
}

// free gives up the port of a dead master.
func (p *tcpPort) free() {
	if p.release != nil {
		p.release()
		p.release = nil
	}
}

// accept gives every connection to listener a link of its own, so that faults act on it as they do
// in memory.
//
// Goroutines: one until listener closes, and two per connection, one per direction, until either end
// closes. All are counted in m.wg. Fleet.Close closes every link, which ends them.
func (m *Master) accept(listener net.Listener) {
	m.wg.Go(func() {
		for {
			socket, err := listener.Accept()
			if err != nil {
				return
			}
			m.mu.Lock()
			if m.proc == nil || m.port.listener != listener {
				m.mu.Unlock()
				socket.Close()
				continue
			}
			end := m.attachLocked(m.Wire())
			m.mu.Unlock()
			m.wg.Go(func() {
				io.Copy(end, socket)
				end.Close()
			})
			m.wg.Go(func() {
				io.Copy(socket, end)
				socket.Close()
			})
		}
	})
}
