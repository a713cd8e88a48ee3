package redlock_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// take takes name, and gives it back.
func take(t *testing.T, s *redlock.Sets, name string) {
	t.Helper()
	unlock(t, setLock(t, t.Context(), s, name))
}

// A process that has no list of sets in common with those that came first takes no lock, whichever set
// the name is in, and says by whom. The first go on, and are told. So is a late process that was started
// with the old sets, and a second operator who moves names elsewhere.
func TestRouteThatComesSecond(t *testing.T) {
	for _, tt := range []struct {
		what          string
		first, second [2]string
		says          []string
	}{
		{"late", [2]string{"b c", ""}, [2]string{"a b", ""}, []string{"fleet on ", " has the sets b, c, this client the sets a, b; this client came second"}},
		{"a rollout skipped", [2]string{"a b", ""}, [2]string{"b c", ""}, []string{" has the sets a, b, this client the sets b, c;"}},
		{"another operator", [2]string{"a b", "b c"}, [2]string{"b d", ""}, []string{" has the sets a, b now and b, c next, this client the sets b, d;"}},
	} {
		t.Run(tt.what, func(t *testing.T) {
			bubble(t, 1, func(t *testing.T, _ *redlocktest.Fleet, _ *redlock.Client) {
				f := startFleets(t, "a", "b", "c", "d")
				logs := [2]*lines{new(lines), new(lines)}
				first := f.open(t, redlock.Config{Name: "fleet", Logger: logger(logs[0])}, tt.first[0], tt.first[1])
				take(t, first, "n")
				time.Sleep(time.Hour)
				second := f.start(t, redlock.Config{Name: "second", Logger: logger(logs[1])}, tt.second[0], tt.second[1])
				refused := func(what string, err error) {
					t.Helper()
					expect(t, what, err, redlock.ErrRoute)
					if why, ok := errors.AsType[*redlock.ConflictError](err); !ok || !why.Refused {
						t.Errorf("%s = %v, want a *ConflictError", what, err)
					}
					for _, says := range tt.says {
						if !strings.Contains(err.Error(), says) {
							t.Errorf("%s = %v, want it to say %q", what, err, says)
						}
					}
				}
				for i := range 40 {
					name := string(rune('a' + i%26)) // in any of its sets
					_, err := second.Lock(t.Context(), name)
					refused("Lock", err)
					_, err = second.TryLockAll(t.Context(), name, "n")
					refused("TryLockAll", err)
					_, err = second.Semaphore(name, 2).TryAcquire(t.Context())
					refused("TryAcquire", err)
					take(t, first, name)
					time.Sleep(5 * time.Second)
				}
				refused("Ready", second.Ready(t.Context()))
				expect(t, "Ready of the first", first.Ready(t.Context()))
				expect(t, "Conflict of the first", first.Conflict(), redlock.ErrRoute)
				for i, log := range logs {
					if log.count(conflictFound) == 0 {
						t.Errorf("the log of process %d says nothing", i)
					}
				}
				// Who is refused keeps nobody from sets that the first do not have yet.
				third := f.open(t, redlock.Config{}, tt.first[0], "a b c d")
				take(t, third, "n")
				expect(t, "Close", errors.Join(first.Close(), third.Close()))
				time.Sleep(forgotten)
				take(t, second, "n")
			})
		})
	}
}
