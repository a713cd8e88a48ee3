package integration

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// relay is a TCP proxy in front of one master that a test can cut and slow down. While a direction is
// cut, its bytes wait, as they would in the sender's TCP; when it is mended, they go on in order. So a
// command may be carried out long after its sender gave it up, and an answer may be lost although its
// command was carried out.
//
// Goroutines: one accepts, and four per connection copy. close ends them and waits.
type relay struct {
	listener net.Listener
	target   string
	there    gate // for what goes to the master
	back     gate // for its answers
	length   atomic.Int64

	wg     sync.WaitGroup
	done   chan struct{}
	mu     sync.Mutex
	conns  []net.Conn
	closed bool
}

func newRelay(t *testing.T, target string) *relay {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatalf("relay: %v", err)
	}
	r := &relay{listener: listener, target: target, done: make(chan struct{})}
	r.mend()
	r.wg.Go(r.accept)
	t.Cleanup(r.close)
	return r
}

// cut stops both directions. Connections stay up and new ones are accepted, as when packets are
// dropped silently.
func (r *relay) cut() { r.there.shut(); r.back.shut() }

// cutAnswers lets commands through and holds back their answers.
func (r *relay) cutAnswers() { r.back.shut() }

func (r *relay) mend() { r.there.open(); r.back.open() }

// delay makes whatever is sent from now on take d to arrive, in either direction. Connecting takes no
// time.
func (r *relay) delay(d time.Duration) { r.length.Store(int64(d)) }

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		master, err := net.Dial("tcp", r.target)
		if err != nil {
			client.Close() // the master is dead: the closest a relay can come to refusing the connection
			continue
		}
		r.mu.Lock()
		if r.closed {
			client.Close()
			master.Close()
		} else {
			r.conns = append(r.conns, client, master)
			r.wg.Go(func() { r.copy(master, client, &r.there) })
			r.wg.Go(func() { r.copy(client, master, &r.back) })
		}
		r.mu.Unlock()
	}
}

// copy moves bytes from one end to the other. The end of a stream waits at the gate too, since a cut
// network does not deliver it either.
func (r *relay) copy(to, from net.Conn, g *gate) {
	defer to.Close()
	transit := make(chan packet, 4096)
	r.wg.Go(func() { r.read(from, transit) })
	for p := range transit {
		select {
		case <-time.After(time.Until(p.due)):
		case <-r.done:
		}
		if !g.pass(r.done) {
			break
		}
		if _, err := to.Write(p.bytes); err != nil {
			break
		}
	}
	from.Close()
	for range transit { // until the reader has ended
	}
}

// packet is what one read returned, and when it arrives at the other end.
type packet struct {
	bytes []byte
	due   time.Time
}

// read puts what it reads from one end in transit. The last packet is the end of the stream.
func (r *relay) read(from net.Conn, transit chan<- packet) {
	defer close(transit)
	defer from.Close()
	buffer := make([]byte, 32<<10)
	for {
		n, err := from.Read(buffer)
		transit <- packet{bytes: append([]byte(nil), buffer[:n]...), due: time.Now().Add(time.Duration(r.length.Load()))}
		if err != nil {
			return
		}
	}
}

func (r *relay) close() {
	close(r.done)
	r.listener.Close()
	r.mu.Lock()
	r.closed = true
	for _, conn := range r.conns {
		conn.Close()
	}
	r.mu.Unlock()
	r.wg.Wait()
}

// gate lets bytes pass while it is open. The zero gate is shut.
type gate struct {
	mu   sync.Mutex
	way  chan struct{} // closed while the gate is open
	free bool
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.way == nil {
		g.way = make(chan struct{})
	}
	if !g.free {
		close(g.way)
		g.free = true
	}
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.free {
		g.way, g.free = make(chan struct{}), false
	}
}

// pass waits until the gate is open. It returns false if done is closed first.
func (g *gate) pass(done <-chan struct{}) bool {
	g.mu.Lock()
	way := g.way
	g.mu.Unlock()
	select {
	case <-way:
		return true
	case <-done:
		return false
	}
}
