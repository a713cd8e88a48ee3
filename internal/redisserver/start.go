package redisserver

import (
	"net"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"
)

// isUp is what a server logs when it listens, or a Sentinel.
var isUp = regexp.MustCompile(`(?i)ready to accept connections|sentinel id is`)

// Start starts a redis-server that ends with the test, and returns its port on 127.0.0.1 and its folder.
// args returns further arguments; it may be nil. A Sentinel (--sentinel) does as well.
func Start(t testing.TB, args func(port, dir string) []string) (port, dir string) {
	t.Helper()
	program, err := Find()
	if err != nil {
		t.Fatal(err)
	}
	// The system chooses a port that is free, and may give it to somebody else before Redis has it. Redis
	// then says so and ends, and the test fails.
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(listener.Addr().String())
	listener.Close()
	dir = t.TempDir()
	log := filepath.Join(dir, "log")
	file := filepath.Join(dir, "redis.conf") // without one, no Sentinel starts
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	all := []string{file, "--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "", "--logfile", log}
	if args != nil {
		all = append(all, args(port, dir)...)
	}
	server := Command(program, all...)
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }() // ends with the server
	t.Cleanup(func() {
		_ = server.Process.Kill()
		<-ended
		if text, err := os.ReadFile(log); t.Failed() && err == nil {
			t.Logf("redis-server:\n%s", text)
		}
	})
	for limit := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		if text, err := os.ReadFile(log); err == nil && isUp.Match(text) {
			return port, dir
		}
		if len(ended) > 0 || time.Now().After(limit) {
			t.Fatal("redis-server is not up")
		}
	}
}
