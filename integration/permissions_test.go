package integration

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
)

// aclRule is the rule in docs/operations.md, with the line that continues it.
var aclRule = regexp.MustCompile(`(?m)^    ACL SETUSER (locks .*\n( {6}.*\n)+)`)

// documentedRule returns the arguments of ACL SETUSER as the docs give them, and then more.
func documentedRule(t *testing.T, more ...string) []any {
	t.Helper()
	text, err := os.ReadFile("../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	rule := aclRule.FindSubmatch(text)
	if rule == nil {
		t.Fatal("docs/operations.md has no ACL rule")
	}
	var args []any
	for _, word := range append(strings.Fields(string(rule[1])), more...) {
		args = append(args, word)
	}
	return args
}

// TestPermissions: the user in the docs may do all that a client does, and a user who may
// not ask for INFO is told so.
func TestPermissions(t *testing.T) {
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 3})
	allow := func(t *testing.T, more ...string) []string {
		var urls []string
		for _, m := range f.masters {
			m.do(t, "ACL", append([]any{"SETUSER"}, documentedRule(t, more...)...)...)
			urls = append(urls, "redis://locks:password@"+m.addr)
		}
		return urls
	}

	t.Run("as documented", func(t *testing.T) {
		client := f.client(redlock.Config{Masters: allow(t), Lease: 2 * time.Second})
		hold := mustLock(ctx, t, client, "orders:42")
		wantTaken(ctx, t, client, "orders:42")
		again, err := client.Lock(hold.Context(), "orders:42")
		if err != nil {
			t.Fatalf("Lock again = %v", err)
		}
		if err := hold.Extend(ctx, 2*time.Second); err != nil {
			t.Errorf("Extend = %v", err)
		}
		if _, err := client.Inspect(ctx, "orders:42"); err != nil {
			t.Errorf("Inspect = %v", err)
		}
		mustUnlock(ctx, t, again)
		for _, m := range f.masters { // a new connection to the same process kills the old one there
			m.do(t, "CLIENT", "KILL", "USER", "locks")
		}
		watch(ctx, t, 3*time.Second, func() error { return live(hold) }) // renewed
		mustUnlock(ctx, t, hold)
		if _, err := client.ForceUnlock(ctx, "orders:42"); err != nil {
			t.Errorf("ForceUnlock = %v", err)
		}
		for _, m := range f.masters {
			log, err := redis.Values(m.do(t, "ACL", "LOG"), nil)
			if err != nil || len(log) > 0 {
				t.Errorf("%s refused something: %v %q", m.name, err, log)
			}
		}
	})
	t.Run("a name outside of the prefix", func(t *testing.T) {
		client := f.client(redlock.Config{Masters: allow(t)})
		_, err := client.TryLock(ctx, "invoices:1")
		if !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), "NOPERM") {
			t.Errorf("TryLock(invoices:1) = %v, want ErrNoQuorum and NOPERM", err)
		}
	})
	t.Run("no INFO", func(t *testing.T) {
		client := f.client(redlock.Config{Masters: allow(t, "-info"), RestartGuard: time.Minute})
		_, err := client.TryLock(ctx, "orders:42")
		if !errors.Is(err, redlock.ErrNoQuorum) || !strings.Contains(err.Error(), "INFO") {
			t.Errorf("TryLock without INFO under a guard = %v, want ErrNoQuorum and INFO", err)
		}
		unguarded := f.client(redlock.Config{Masters: allow(t, "-info")})
		mustUnlock(ctx, t, mustLock(ctx, t, unguarded, "orders:42"))
	})
}
