// Command hello is the program of the README: it takes a lock on five local masters, works under
// it, and gives it back.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"example.com/redlock/redlock"
)

func main() {
	err := run(context.Background(),
		"127.0.0.1:7001", "127.0.0.1:7002", "127.0.0.1:7003", "127.0.0.1:7004", "127.0.0.1:7005")
	if err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, masters ...string) (err error) {
	client, err := redlock.New(redlock.Config{Masters: masters, Logger: slog.Default()})
	if err != nil {
		return err
	}
	defer client.Close()

	wait, cancel := context.WithTimeout(ctx, time.Minute) // bounds the wait, not the hold
	defer cancel()
	hold, err := client.Lock(wait, "orders:42")
	if err != nil {
		return err // says who has the lock, or which masters are missing
	}
	defer func() { err = errors.Join(err, hold.Unlock(ctx)) }() // ErrLost: we did not have it throughout

	return ship(hold.Context(), hold.Token())
}

// ship is the work. It stops when ctx ends, because somebody else may have the lock after that.
func ship(ctx context.Context, token int64) error {
	fmt.Println("shipping order 42, with fencing token", token)
	select {
	case <-time.After(3 * time.Second):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
