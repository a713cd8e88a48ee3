package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

// wantNamed expects an error that names the master it is about.
func wantNamed(t *testing.T, err error, m *master) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), m.addr) {
		t.Errorf("error %q does not name %s", err, m.addr)
	}
}

// TestPassword: errors, the log and Inspect report a wrong password with the master's address and
// without the password.
func TestPassword(t *testing.T) {
	const right, wrong = "open-sesame", "close-sesame"
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 3, Password: right})
	urls := func(passwords ...string) (urls []string) {
		for i, m := range f.masters {
			urls = append(urls, fmt.Sprintf("redis://:%s@%s", passwords[i], m.addr))
		}
		return urls
	}
	silent := func(what, text string) {
		t.Helper()
		for _, password := range []string{right, wrong} {
			if strings.Contains(text, password) {
				t.Errorf("%s shows a password: %s", what, text)
			}
		}
	}
	t.Cleanup(func() { silent("the log", f.log.String()) })

	t.Run("right", func(t *testing.T) {
		client := f.client(redlock.Config{})
		mustUnlock(ctx, t, mustLock(ctx, t, client, "orders:42"))
	})
	t.Run("wrong on all", func(t *testing.T) {
		client := f.client(redlock.Config{Masters: urls(wrong, wrong, wrong)})
		quick(t, 2*time.Second, "TryLock with wrong passwords", func() {
			hold, err := client.TryLock(ctx, "orders:42")
			if !errors.Is(err, redlock.ErrNoQuorum) {
				t.Fatalf("TryLock with wrong passwords = %v, %v, want ErrNoQuorum", hold, err)
			}
			for _, m := range f.masters {
				wantNamed(t, err, m)
			}
			silent("the error", err.Error())
			if !strings.Contains(err.Error(), "WRONGPASS") {
				t.Errorf("error %q does not pass on what the master said: WRONGPASS", err)
			}
		})
		inspection, err := client.Inspect(ctx, "orders:42")
		silent("Inspect", fmt.Sprintf("%+v %v", inspection, err))
	})
	t.Run("wrong on one", func(t *testing.T) {
		client := f.client(redlock.Config{Masters: urls(right, wrong, right)})
		mustUnlock(ctx, t, mustLock(ctx, t, client, "orders:42"))
		inspection, err := client.Inspect(ctx, "orders:42")
		if err != nil {
			t.Fatalf("Inspect = %v, want what two masters say", err)
		}
		wantNamed(t, inspection.Masters[1].Err, f.masters[1])
		silent("Inspect", fmt.Sprintf("%+v", inspection))
	})
	t.Run("none given", func(t *testing.T) {
		var bare []string
		for _, m := range f.masters {
			bare = append(bare, m.addr)
		}
		client := f.client(redlock.Config{Masters: bare})
		hold, err := client.TryLock(ctx, "orders:42")
		if !errors.Is(err, redlock.ErrNoQuorum) {
			t.Fatalf("TryLock without a password = %v, %v, want ErrNoQuorum", hold, err)
		}
		for _, m := range f.masters {
			wantNamed(t, err, m)
		}
	})
}

// TestTLSAgainstPlain: a rediss:// address of a master that speaks no TLS.
func TestTLSAgainstPlain(t *testing.T) {
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 3})
	var secure []string
	for _, m := range f.masters {
		secure = append(secure, "rediss://"+m.addr)
	}
	client := f.client(redlock.Config{Masters: secure})
	quick(t, 2*time.Second, "TryLock over TLS that is not there", func() {
		hold, err := client.TryLock(ctx, "orders:42")
		if !errors.Is(err, redlock.ErrNoQuorum) {
			t.Fatalf("TryLock over TLS that is not there = %v, %v, want ErrNoQuorum", hold, err)
		}
		for _, m := range f.masters {
			wantNamed(t, err, m)
		}
		f.log.event("TryLock = %v", err)
	})
}

// TestNobodyListens: addresses with nothing behind them.
func TestNobodyListens(t *testing.T) {
	ctx := begin(t, time.Minute)
	nobody := []string{"127.0.0.1:" + machine.engine.FreePort(), "127.0.0.1:" + machine.engine.FreePort(), "127.0.0.1:" + machine.engine.FreePort()}
	f := &fleet{t: t, log: newTimeline(t)}
	client := f.client(redlock.Config{Masters: nobody})
	quick(t, 2*time.Second, "TryLock where nobody listens", func() {
		hold, err := client.TryLock(ctx, "orders:42")
		if !errors.Is(err, redlock.ErrNoQuorum) {
			t.Fatalf("TryLock where nobody listens = %v, %v, want ErrNoQuorum", hold, err)
		}
		for _, address := range nobody {
			wantNamed(t, err, &master{addr: address})
		}
	})
}
