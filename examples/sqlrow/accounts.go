package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrStale says that a later hold of the lock has touched the row. It is final: a retry cannot
// succeed, and what the caller knows about the row is out of date.
var ErrStale = errors.New("stale fencing token")

// Accounts is a table whose rows refuse callers that have lost the row's lock.
//
// Each row remembers the largest fencing token that it was read or written with. The
// token is an argument here, not a value in the context: a caller that locks two accounts
// for a transfer has two tokens, and each row must get its own. (../objectstore shows the
// other way.)
type Accounts struct{ db *sql.DB }

// schema keeps the token in the row that it guards, so that one statement can check the token
// and write. Between two statements, a newer hold could write.
//
// The token starts at 1, so that zero, which redlock.Token returns for a context without a hold,
// is stale from the start.
//
// Never delete a row while clients still use its lock: the token goes with it, and the next row
// with that id accepts any write. Mark the row as deleted instead.
const schema = `CREATE TABLE IF NOT EXISTS accounts (
	id      TEXT    PRIMARY KEY,
	balance INTEGER NOT NULL,
	token   INTEGER NOT NULL DEFAULT 1
) STRICT`

// NewAccounts creates the table if there is none. The caller closes db.
func NewAccounts(ctx context.Context, db *sql.DB) (*Accounts, error) {
	if _, err := db.ExecContext(ctx, schema); err != nil {
		return nil, fmt.Errorf("accounts: create table: %w", err)
	}
	return &Accounts{db: db}, nil
}

// Open adds an account, unless there is one with that id.
func (a *Accounts) Open(ctx context.Context, id string, balance int64) error {
	const insert = `INSERT INTO accounts (id, balance) VALUES (?, ?) ON CONFLICT DO NOTHING`
	if _, err := a.db.ExecContext(ctx, insert, id, balance); err != nil {
		return fmt.Errorf("accounts: open %q: %w", id, err)
	}
	return nil
}

// Read returns the balance, and shuts out all holds before the one with this token.
//
// It is tempting to read with a plain SELECT, since a read changes nothing. But then the row
// does not know about the new hold until that hold writes, and a late write of an old hold can
// land in between. No token goes backwards, since the new hold writes after that. Yet the late
// write is lost, because the new hold computed its write from what it read earlier. Code that
// reads in order to write must raise the token first.
//
// ErrStale: a later hold has touched the row. sql.ErrNoRows: there is no such account.
func (a *Accounts) Read(ctx context.Context, id string, token int64) (balance int64, err error) {
	const read = `UPDATE accounts SET token = ?2 WHERE id = ?1 AND token <= ?2 RETURNING balance`
	err = a.db.QueryRowContext(ctx, read, id, token).Scan(&balance)
	if errors.Is(err, sql.ErrNoRows) {
		err = a.refused(ctx, id, token)
	}
	if err != nil {
		return 0, fmt.Errorf("accounts: read %q: %w", id, err)
	}
	return balance, nil
}

// Write sets the balance, unless a hold later than the one with this token has touched the row.
//
// The comparison is <=, not <. No two holds have the same token, so an equal one belongs to the
// same hold: its second write, a write after its Read, or a repeat because no answer came.
// With <, a hold could touch the row only once, and a repeat could not tell its own first try
// from somebody else's. That is right only where a hold must act at most once.
//
// <= does not order the writes of one hold. The holder has to, by waiting for the answer to each
// write. A write that got no answer (a timeout) may still land later, so the holder repeats that
// same write or gives up the hold, but does not go on to another write.
//
// ErrStale: a later hold has touched the row. sql.ErrNoRows: there is no such account. After any
// other error, the balance may have been written or not.
func (a *Accounts) Write(ctx context.Context, id string, balance, token int64) error {
	const write = `UPDATE accounts SET balance = ?3, token = ?2 WHERE id = ?1 AND token <= ?2`
	result, err := a.db.ExecContext(ctx, write, id, token, balance)
	if err != nil {
		return fmt.Errorf("accounts: write %q: %w", id, err)
	}
	n, err := result.RowsAffected()
	if err == nil && n == 0 {
		err = a.refused(ctx, id, token)
	}
	if err != nil {
		return fmt.Errorf("accounts: write %q: %w", id, err)
	}
	return nil
}

// refused says why a statement found no row: there is none, or its token is larger. That the row
// may have changed meanwhile affects only the message: tokens grow, so what was refused once
// always will be.
func (a *Accounts) refused(ctx context.Context, id string, token int64) error {
	var newest int64
	err := a.db.QueryRowContext(ctx, `SELECT token FROM accounts WHERE id = ?`, id).Scan(&newest)
	if err != nil {
		return err
	}
	return fmt.Errorf("%w %d: the row has seen %d", ErrStale, token, newest)
}
