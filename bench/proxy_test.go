package main

import (
	"net"
	"testing"
	"time"
)

// pongs returns the address of a server that answers +PONG to everything until the test ends.
func pongs(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				room := make([]byte, 64)
				for {
					if _, err := conn.Read(room); err != nil {
						return
					}
					if _, err := conn.Write([]byte("+PONG\r\n")); err != nil {
						return
					}
				}
			}()
		}
	}()
	return listener.Addr().String()
}

func TestProxyMoves(t *testing.T) {
	p, err := startProxy(pongs(t))
	if err != nil {
		t.Fatalf("startProxy = %v", err)
	}
	defer p.close()
	for _, distance := range []time.Duration{40 * time.Millisecond, 100 * time.Millisecond} {
		if got, err := p.moveTo(distance); err != nil || got < distance {
			t.Errorf("moveTo(%v) = %v, %v, want at least that", distance, got, err)
		}
	}
}
