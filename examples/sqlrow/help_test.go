package main

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// newClient returns a new client, as another process would have it.
func newClient(t *testing.T, fleet *redlocktest.Fleet) *redlock.Client {
	client, err := redlock.New(redlock.Config{
		Pools:        fleet.Pools(),
		Lease:        time.Second,
		RestartGuard: -1, // masters come back with their data
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// disturb makes masters fail, one at a time, until ctx ends. A master that comes back has missed
// holds, so the masters disagree on the next token and have to settle it.
func disturb(ctx context.Context, fleet *redlocktest.Fleet, random *rand.Rand) {
	for ctx.Err() == nil {
		master := fleet.Master(random.IntN(len(fleet.Masters())))
		fail, repair := master.Kill, master.RestartWithData
		if random.IntN(2) == 0 {
			fail, repair = master.Cut, master.Mend
		}
		wait(ctx, random)
		fail()
		wait(ctx, random)
		repair()
	}
}

// wait waits for up to three leases, or until ctx ends.
func wait(ctx context.Context, random *rand.Rand) {
	select {
	case <-time.After(time.Duration(random.Int64N(int64(3 * time.Second)))):
	case <-ctx.Done():
	}
}

// record has the database itself log every change of a balance, in the order in which the changes
// land. A log that goroutines of the test wrote could be out of order.
func record(t *testing.T, accounts *Accounts) {
	t.Helper()
	const history = `
		CREATE TABLE history (seq INTEGER PRIMARY KEY, token INTEGER NOT NULL);
		CREATE TRIGGER landed AFTER UPDATE OF balance ON accounts
		BEGIN
			INSERT INTO history (token) VALUES (new.token);
		END`
	if _, err := accounts.db.ExecContext(t.Context(), history); err != nil {
		t.Fatal(err)
	}
}

// examine reads the history, and compares the balance with the deposits that were accepted.
func examine(t *testing.T, accounts *Accounts, accepted int64) (got damage) {
	t.Helper()
	const disorder = `SELECT count(*) FROM history AS late WHERE EXISTS
		(SELECT 1 FROM history AS before WHERE before.seq < late.seq AND before.token > late.token)`
	if err := accounts.db.QueryRowContext(t.Context(), disorder).Scan(&got.disorder); err != nil {
		t.Fatal(err)
	}
	var balance int64
	if err := accounts.db.QueryRowContext(t.Context(), `SELECT balance FROM accounts`).Scan(&balance); err != nil {
		t.Fatal(err)
	}
	got.lost = int(accepted - balance)
	return got
}
