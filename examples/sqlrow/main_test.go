package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/redlock/internal/check"
)

// The story prints what ../README.md shows. In a bubble, its lease of a second takes no time.
func TestStory(t *testing.T) {
	var out strings.Builder
	synctest.Test(t, func(t *testing.T) {
		check.OK(t, run(t.Context(), &out))
	})
	check.Shows(t, "../README.md", out.String())
}

// calls are what the row checks a token for.
var calls = map[string]func(ctx context.Context, a *Accounts, id string, token int64) error{
	"Read": func(ctx context.Context, a *Accounts, id string, token int64) error {
		_, err := a.Read(ctx, id, token)
		return err
	},
	"Write": func(ctx context.Context, a *Accounts, id string, token int64) error {
		return a.Write(ctx, id, token, token)
	},
}

// What the row accepts depends on the largest token that it was read or written with. A read that did not
// count would let a late write land between what a newer hold reads and what it writes, and be lost.
func TestToken(t *testing.T) {
	const seen = 7
	for _, tt := range []struct {
		name  string
		token int64
		want  error
	}{
		{"an older hold", seen - 1, ErrStale},
		{"the same hold", seen, nil},
		{"a newer hold", seen + 1, nil},
		{"no hold", 0, ErrStale},
	} {
		for first, touch := range calls {
			for call, do := range calls {
				t.Run(first+"/"+call+"/"+tt.name, func(t *testing.T) {
					accounts := newAccounts(t)
					check.OK(t, touch(t.Context(), accounts, account, seen))
					err := do(t.Context(), accounts, account, tt.token)
					if !errors.Is(err, tt.want) {
						t.Fatalf("%s = %v, want %v", call, err, tt.want)
					}
					want := fmt.Sprintf("token %d: the row has seen %d", tt.token, seen)
					check.That(t, err == nil || strings.HasSuffix(err.Error(), want), "%s = %v, want %s", call, err, want)
				})
			}
		}
	}
}

// A row that no hold has touched refuses callers without a hold, and one that is not there is not a stale token.
func TestUntouched(t *testing.T) {
	accounts := newAccounts(t)
	for call, do := range calls {
		if err := do(t.Context(), accounts, account, 0); !errors.Is(err, ErrStale) {
			t.Errorf("%s with token 0 = %v, want %v", call, err, ErrStale)
		}
		if err := do(t.Context(), accounts, "nobody", 1); !errors.Is(err, sql.ErrNoRows) {
			t.Errorf("%s of an account that is not there = %v, want %v", call, err, sql.ErrNoRows)
		}
	}
}

// newAccounts returns a table with one account, whose balance is 0.
func newAccounts(t *testing.T) *Accounts {
	t.Helper()
	db, err := openDB()
	check.OK(t, err)
	t.Cleanup(func() { db.Close() })
	accounts, err := NewAccounts(t.Context(), db)
	check.OK(t, err)
	check.OK(t, accounts.Open(t.Context(), account, 0))
	return accounts
}
