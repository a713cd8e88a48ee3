// Command sqlrow shows a SQL row that is guarded by a fencing token: a client that was
// stopped for longer than its lease writes late, and the row refuses the write.
//
// The masters and the database are in the process, so it needs no setup:
//
//	go run ./sqlrow
//
// Copy accounts.go, and the critical section, deposit, below.
package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite", without cgo

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "sqlrow:", err)
		os.Exit(1)
	}
}

const (
	account  = "alice"
	lockName = "accounts:" + account // one lock per row, so that other accounts need not wait

	// shortLease is the stopped client's. A service would use the default, 30 s.
	shortLease = time.Second
)

// run prepares masters, two clients that are independent of each other, and a table.
func run(ctx context.Context, out io.Writer) (err error) {
	fleet := redlocktest.New(3) // in a service: redlock.Config{Masters: …}
	defer fleet.Close()
	a, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	b, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close()) }()

	db, err := openDB()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	accounts, err := NewAccounts(ctx, db)
	if err != nil {
		return err
	}
	if err := accounts.Open(ctx, account, 100); err != nil {
		return err
	}
	return story(ctx, out, a, b, accounts)
}

// openDB opens a database in memory. Each connection to ":memory:" is a database of its own, so
// there must be only one connection, which stays open.
func openDB() (*sql.DB, error) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	return db, nil
}

// story shows what can go wrong with locks that have leases, and why it does no harm here.
func story(ctx context.Context, out io.Writer, a, b *redlock.Client, accounts *Accounts) error {
	// A is about to be stopped by the garbage collector, the hypervisor or SIGSTOP, so nothing
	// would renew its lock. A fixed lease, which nothing renews, stands for that.
	stopped, err := a.Lock(ctx, lockName, redlock.Lease(shortLease))
	if err != nil {
		return err
	}
	balance, err := accounts.Read(stopped.Context(), account, stopped.Token())
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "A has the lock, with token %d, and reads balance %d.\n", stopped.Token(), balance)
	fmt.Fprintf(out, "A is stopped before it can write, for longer than its lease of %v.\n", shortLease)

	token, balance2, err := deposit(ctx, b, accounts, 10)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "B waits for the lease to end, takes the lock, with token %d, and writes balance %d.\n", token, balance2)

	// A carries on where it was. Its context has ended meanwhile, but a write that has left the
	// machine cannot be called back: WithoutCancel stands for that.
	late := context.WithoutCancel(stopped.Context())
	fmt.Fprintf(out, "A wakes up, believes that it has the lock, and writes balance %d, with token %d.\n", balance+50, stopped.Token())
	err = accounts.Write(late, account, balance+50, stopped.Token())
	if !errors.Is(err, ErrStale) {
		return fmt.Errorf("the late write was not refused: %v", err)
	}
	fmt.Fprintf(out, "The row refuses it: %v.\n", err)

	// Unlock reports it too: A did not have the lock to itself all the time.
	if err := stopped.Unlock(ctx); !errors.Is(err, redlock.ErrLost) {
		return fmt.Errorf("unlock of a lock that was lost: %v", err)
	}

	// The remedy is to repeat not just the write but everything, starting with the lock.
	token, balance, err = deposit(ctx, a, accounts, 50)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "A starts again, with token %d: balance %d. Neither deposit is lost.\n", token, balance)
	return nil
}

// deposit is the critical section as a service would write it.
func deposit(ctx context.Context, client *redlock.Client, accounts *Accounts, amount int64) (token, balance int64, err error) {
	hold, err := client.Lock(ctx, lockName)
	if err != nil {
		return 0, 0, err
	}
	// An error of Unlock is no reason to fail. After ErrLost, the row has refused whatever came
	// too late; after ErrNoQuorum, the lock ends with its lease.
	defer hold.Unlock(ctx)

	token = hold.Token()
	balance, err = accounts.Read(hold.Context(), account, token)
	if err != nil {
		return token, 0, err
	}
	balance += amount
	return token, balance, accounts.Write(hold.Context(), account, balance, token)
}
