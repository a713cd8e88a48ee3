package main

import (
	"context"
	"fmt"
	"time"

	"example.com/redlock/redlock"
)

const (
	readers = 3                    // callers of one client that read; one more writes
	inside  = 4 * time.Millisecond // how long each has the lock, at most
)

// share takes the lock again and again until ctx ends, for writing and for reading. Who has it appends
// two lines to the journal, which all share: "in kind who token" and "out kind who token". So between
// the two of a writer is no other, if it was alone.
func share(ctx context.Context, client *redlock.Client, name, journal, who string) error {
	say("begins")
	all := make([]contender, readers+1)
	for i := range all {
		kind, lock := "reader", client.RLock
		if i == 0 {
			kind, lock = "writer", client.Lock
		}
		all[i] = contender{
			take: func(ctx context.Context) (*redlock.Hold, error) { return lock(ctx, name) },
			stay: inside,
			line: func(h *redlock.Hold) string { return fmt.Sprintf("%s %s-%d %d", kind, who, i, h.Token()) },
		}
	}
	return compete(ctx, all, journal)
}

// read takes the lock for reading, once, and keeps it.
func read(ctx context.Context, client *redlock.Client, name string) error {
	hold, err := client.RLock(ctx, name)
	if err != nil {
		return err
	}
	say("reads")
	<-ctx.Done()
	return hold.Unlock(context.WithoutCancel(ctx))
}
