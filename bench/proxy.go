package main

import (
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// proxy forwards to a master with a delay that can be set.
type proxy struct {
	listener net.Listener
	master   string
	oneWay   atomic.Int64 // the delay of each direction

	mu    sync.Mutex
	conns []net.Conn // to close
}

// startProxy starts to forward to the master at that address. close ends it.
//
// Goroutines: one that accepts, and four for each connection. They end after close; nobody waits for
// them.
func startProxy(master string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, master: master}
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", master)
			if err != nil {
				client.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, client, server)
			p.mu.Unlock()
			p.forward(client, server)
			p.forward(server, client)
		}
	}()
	return p, nil
}

// forward sends to to what from sends, each piece as late as the delay says when it arrives.
func (p *proxy) forward(from, to net.Conn) {
	type piece struct {
		bytes []byte
		due   time.Time
	}
	pieces := make(chan piece, 1024)
	go func() {
		defer close(pieces)
		for {
			room := make([]byte, 16<<10)
			n, err := from.Read(room)
			if err != nil {
				return
			}
			pieces <- piece{room[:n], time.Now().Add(time.Duration(p.oneWay.Load()))}
		}
	}()
	go func() {
		defer to.Close()
		for piece := range pieces {
			time.Sleep(time.Until(piece.due))
			_, _ = to.Write(piece.bytes) // from ends too when to is broken
		}
	}()
}

func (p *proxy) address() string { return p.listener.Addr().String() }

func (p *proxy) close() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
}

// move sets the round trip to the master: half of it in each direction. Opening a connection stays as
// fast as before.
func (p *proxy) move(roundTrip time.Duration) { p.oneWay.Store(int64(roundTrip / 2)) }

// moveTo calls move, then measures the round trip on a new connection.
func (p *proxy) moveTo(roundTrip time.Duration) (time.Duration, error) {
	p.move(roundTrip)
	conn, err := redis.Dial("tcp", p.address())
	if err != nil {
		return 0, err
	}
	defer conn.Close()
	asked := time.Now()
	_, err = conn.Do("PING")
	took := time.Since(asked)
	if err == nil && took < roundTrip {
		err = fmt.Errorf("a master that is %v away answers after %v", roundTrip, took)
	}
	return took, err
}
