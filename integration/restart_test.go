package integration

import (
	"testing"
	"time"

	"example.com/redlock/redlock"
)

// TestRestartKeepsAll: masters that write each command to their disk, and have the users of deploy, come back
// with a lock that was just taken. With a default user that has no rights they would not.
func TestRestartKeepsAll(t *testing.T) {
	t.Parallel()
	ctx := begin(t)
	s := newSecrets(t)
	set := s.masters(t, 3, durable...)
	f := startFleet(ctx, t, set)
	hold, err := f.client(redlock.Config{}).Lock(ctx, "orders:42", redlock.Lease(30*time.Second)) // which nobody renews
	did(t, err)
	for _, m := range f.masters {
		m.user, m.password = "operator", string(s.file(t, "operator-password")) // the locks' user may not look
	}
	eventually(ctx, t, "all masters have it", func() error { return f.has(hold, 1) })
	f.restart(t)
	if err := f.has(hold, 1); err != nil {
		t.Errorf("after a restart: %v", err)
	}
}

// durable has redis-server forget nothing.
var durable = []string{"--dir", "/tmp", "--appendonly", "yes", "--appendfsync", "always"}
