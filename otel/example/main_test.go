package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/check"
)

// TestRun: the program serves what it does, until it is interrupted.
func TestRun(t *testing.T) {
	free, err := net.Listen("tcp", "localhost:0")
	check.OK(t, err)
	address := free.Addr().String()
	free.Close()
	ctx, interrupt := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx, []string{"-listen", address}) }()

	began := time.Now()
	const want = `redlock_acquire_duration_seconds_count{redlock_kind="lock",redlock_name="orders",redlock_outcome="acquired"}`
	for text := ""; !strings.Contains(text, want); text = get("http://" + address + "/metrics") {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		case <-time.After(20 * time.Millisecond): // another process would have to poll as well
			if time.Since(began) > time.Minute {
				t.Fatalf("it does not serve %s, but\n%s", want, text)
			}
		}
	}
	interrupt()
	check.OK(t, <-ended, "run, interrupted")
}

// get returns what a server answers, "" if it does not.
func get(url string) string {
	answer, err := http.Get(url)
	if err != nil {
		return ""
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return string(text)
}
