// Command hello is the program of the README: it takes a lock on five local masters, works under
// it, and gives it back.
package main

import (
	"context"
	"fmt"
	"log"
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

func run(ctx context.Context, masters ...string) error {
	client, err := redlock.New(redlock.Config{Masters: masters})
	if err != nil {
		return err
	}
	defer client.Close()

	// Do waits for the lock, renews it while the function runs, and unlocks even after a panic.
	return client.Do(ctx, "orders:42", func(ctx context.Context) error {
		return ship(ctx, redlock.Token(ctx))
	})
}

// ship is the work. Its context is cancelled before anybody else can get the lock.
func ship(ctx context.Context, token int64) error {
	fmt.Println("shipping order 42, with fencing token", token)
	select {
	case <-time.After(3 * time.Second):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
