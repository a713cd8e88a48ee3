// Package sshtunnel shows locks on masters that are reached through SSH: Config.Dial is the ssh.Client's DialContext.
// Its connections know no deadlines, and need none.
package sshtunnel

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"golang.org/x/crypto/ssh"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// open returns a client of masters behind an SSH server.
func open(tunnel *ssh.Client, masters ...string) (*redlock.Client, error) {
	return redlock.New(redlock.Config{
		Masters: masters,
		Dial:    tunnel.DialContext, // the names are looked up on the other side
	})
}

func TestLockThroughSSH(t *testing.T) {
	tunnel, freeze := startSSH(t)
	client, err := open(tunnel, redlocktest.Start(t, 3).URLs()...)
	check.OK(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	hold, err := client.Lock(ctx, "orders:42")
	check.OK(t, err)
	check.OK(t, hold.Unlock(ctx))

	// A tunnel that hangs costs a timeout, whatever its connections wait for.
	freeze()
	if hold, err := client.TryLock(ctx, "orders:42"); err == nil {
		t.Errorf("TryLock through a tunnel that hangs: got %v", hold)
	}
	closed := make(chan error, 1)
	go func() { closed <- client.Close() }()
	select {
	case err := <-closed:
		t.Log("Close:", err)
	case <-ctx.Done():
		t.Error("Close has not returned: it waits for a tunnel that hangs")
	}
}

// startSSH starts an SSH server in this process that forwards what it is asked to, and returns a connection to it, and
// how to make it hang.
//
// Goroutines: those of the server and of what it forwards. They end with the connection, which ends with the test.
func startSSH(t *testing.T) (client *ssh.Client, freeze func()) {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	check.OK(t, err)
	signer, err := ssh.NewSignerFromKey(key)
	check.OK(t, err)
	server := &ssh.ServerConfig{NoClientAuth: true}
	server.AddHostKey(signer)
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	check.OK(t, err)
	defer listener.Close()
	frozen, over := make(chan struct{}), make(chan struct{})
	go func() {
		raw, err := listener.Accept()
		if err != nil {
			return
		}
		conn, channels, requests, err := ssh.NewServerConn(&frozenConn{raw, frozen, over}, server)
		if err != nil {
			return
		}
		defer conn.Close()
		go ssh.DiscardRequests(requests)
		for channel := range channels {
			go forward(channel)
		}
	}()
	client, err = ssh.Dial("tcp", listener.Addr().String(), &ssh.ClientConfig{HostKeyCallback: ssh.FixedHostKey(signer.PublicKey())})
	check.OK(t, err)
	t.Cleanup(func() {
		close(over)
		client.Close()
	})
	return client, sync.OnceFunc(func() { close(frozen) })
}

// forward connects a channel of an SSH server to where it is to lead.
func forward(asked ssh.NewChannel) {
	var to struct {
		Host       string
		Port       uint32
		OriginHost string
		OriginPort uint32
	}
	if err := ssh.Unmarshal(asked.ExtraData(), &to); err != nil {
		_ = asked.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	far, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.ParseIP(to.Host), Port: int(to.Port)})
	if err != nil {
		_ = asked.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer far.Close()
	near, requests, err := asked.Accept()
	if err != nil {
		return
	}
	defer near.Close()
	go ssh.DiscardRequests(requests)
	go func() {
		_, _ = io.Copy(far, near)
		far.Close()
	}()
	_, _ = io.Copy(near, far)
}

// frozenConn reads nothing more once it is frozen.
type frozenConn struct {
	net.Conn
	frozen, over chan struct{}
}

func (c *frozenConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	select {
	case <-c.frozen:
		<-c.over
	default:
	}
	return n, err
}
