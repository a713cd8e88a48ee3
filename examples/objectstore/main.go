// Command objectstore shows an object store like S3 or GCS, which cannot compare fencing tokens, and is
// fenced by conditional writes.
//
// The masters and the store are in the process, so it needs no setup:
//
//	go run ./objectstore
//
// Copy client.go, and publish, below.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "objectstore:", err)
		os.Exit(1)
	}
}

const (
	objectName = "report"
	lockName   = "objects:" + objectName

	// shortLease is the lease of the client that is cut off. A service would use the default.
	shortLease = time.Second

	// patience is how long an HTTP request may take.
	patience = 5 * time.Second
)

// run prepares masters, clients and a bucket.
func run(ctx context.Context, out io.Writer) (err error) {
	fleet := redlocktest.New(3) // in a service: redlock.Config{Masters: …}
	defer fleet.Close()
	// MaxLease covers the leases of b: a client whose restart guard is shorter than those takes no lock.
	a, err := redlock.New(redlock.Config{Pools: fleet.Pools(), Lease: shortLease, MaxLease: 30 * time.Second})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	b, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()

	bucket := httptest.NewServer(NewBucket())
	defer bucket.Close()
	client := &http.Client{Timeout: patience} // the default client has no timeout
	return story(ctx, out, fleet, a, b, &Client{URL: bucket.URL, HTTP: client})
}

// story shows a write that is still on its way when its hold ends.
func story(ctx context.Context, out io.Writer, fleet *redlocktest.Fleet, a, b *redlock.Client, objects *Client) error {
	err := a.Do(ctx, lockName, func(held context.Context) error {
		fmt.Fprintf(out, "A has the lock, with token %d, and is cut off from the masters.\n", redlock.Token(held))
		for _, m := range fleet.Masters() {
			m.Cut()
		}
		<-held.Done() // no renewal arrives, so this ends with the validity of the hold
		for _, m := range fleet.Masters() {
			m.Mend()
		}

		err := b.Do(ctx, lockName, func(ctx context.Context) error {
			fmt.Fprintf(out, "B takes it once the lease has ended, with token %d, and publishes.\n", redlock.Token(ctx))
			return publish(ctx, objects, "by B")
		})
		if err != nil {
			return err
		}

		// A write that left the machine before held ended cannot be called back, and may arrive
		// as late as this: WithoutCancel stands for that. It keeps the token.
		late := publish(context.WithoutCancel(held), objects, "by A")
		if !errors.Is(late, ErrStale) {
			return fmt.Errorf("the late write was not refused: %v", late)
		}
		fmt.Fprintf(out, "A's write arrives late, and is refused: %v.\n", late)
		return nil
	})
	if !errors.Is(err, redlock.ErrLost) {
		return fmt.Errorf("the lock of A is not lost: %w", err)
	}
	fmt.Fprintln(out, "Do tells A that it has lost the lock.")
	return nil
}

// publish stands for a tree of calls that know nothing about the lock.
func publish(ctx context.Context, objects *Client, author string) error {
	return objects.Put(ctx, objectName, fmt.Appendf(nil, "report, %s\n", author))
}
