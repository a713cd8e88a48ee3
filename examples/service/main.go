// Command service ships orders over HTTP, one request at a time for each order, however many
// replicas of it run. docs/getting-started.md comes to it step by step.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"example.com/redlock/redlock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listener, err := net.Listen("tcp", "127.0.0.1:8080")
	if err != nil {
		log.Fatal(err)
	}
	err = run(ctx, listener, redlock.Config{
		Masters: strings.Split(os.Getenv("REDLOCK_MASTERS"), ","),
		Logger:  slog.Default(),
	})
	if err != nil {
		log.Fatal(err)
	}
}

// run serves until ctx ends, then finishes what it has begun.
func run(ctx context.Context, listener net.Listener, config redlock.Config) (err error) {
	client, err := redlock.New(config)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()

	start, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := client.Ready(start); err != nil {
		return fmt.Errorf("the masters are not ready: %w", err)
	}

	server := &http.Server{Handler: newHandler(client, ship)}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	select {
	case err := <-served:
		return err
	case <-ctx.Done():
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), 20*time.Second)
	defer cancel()
	return server.Shutdown(finish) // waits for the requests that are being served
}

// ship is the work. It stops when ctx ends, because somebody else may have the lock after that.
func ship(ctx context.Context, order string, token int64) error {
	select {
	case <-time.After(time.Second): // stands for the work
		slog.Info("shipped", "order", order, "token", token)
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
