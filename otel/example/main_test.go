package main

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

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

	const want = `redlock_acquire_duration_seconds_count{redlock_kind="lock",redlock_name="orders",redlock_outcome="acquired"}`
	check.Eventually(t, "it serves "+want, func() bool {
		select {
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		default:
		}
		return strings.Contains(get("http://"+address+"/metrics"), want)
	})
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
