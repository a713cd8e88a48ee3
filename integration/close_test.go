package integration

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/redlock/redlock"
)

// TestClose: a client that closes releases everything, and closing takes no longer when masters are
// gone.
func TestClose(t *testing.T) {
	t.Parallel()
	hurts := []struct {
		name string
		hurt func(ctx context.Context, t *testing.T, m *master)
	}{
		{"healthy", func(context.Context, *testing.T, *master) {}},
		{"minority killed", func(ctx context.Context, t *testing.T, m *master) { m.kill(ctx, t) }},
		{"minority paused", func(_ context.Context, t *testing.T, m *master) { m.pause(t) }},
		{"minority cut", func(_ context.Context, _ *testing.T, m *master) { m.cut() }},
	}
	for _, at := range []string{"before", "while"} {
		for _, h := range hurts {
			t.Run(h.name+" "+at, func(t *testing.T) {
				ctx := begin(t, time.Minute)
				f := startFleet(ctx, t, fleetConfig{Masters: 3, Wires: h.name == "minority cut"})
				client := f.client(redlock.Config{})
				hold := mustLock(ctx, t, client, "orders:42")
				waiter := make(chan error, 1)
				go func() { // ends when Lock returns, at the latest with ctx
					_, err := client.Lock(ctx, "orders:42")
					waiter <- err
				}()
				if at == "before" {
					h.hurt(ctx, t, f.masters[0])
					watch(ctx, t, time.Second, func() error { return live(hold) })
					f.close(client)
				} else {
					done := make(chan struct{})
					go func() { f.close(client); close(done) }()
					h.hurt(ctx, t, f.masters[0])
					<-done
				}
				select {
				case err := <-waiter:
					if !errors.Is(err, redlock.ErrClosed) {
						t.Errorf("Lock while the client closes = %v, want ErrClosed", err)
					}
				case <-time.After(time.Second):
					t.Errorf("Lock has not returned 1s after Close")
				}
				if cause := context.Cause(hold.Context()); !errors.Is(cause, redlock.ErrClosed) {
					t.Errorf("Cause after Close = %v, want ErrClosed", cause)
				}
				if _, err := client.TryLock(ctx, "orders:42"); !errors.Is(err, redlock.ErrClosed) {
					t.Errorf("TryLock after Close = %v, want ErrClosed", err)
				}
				f.wantFree(ctx, t, f.masters[1:], "orders:42")
			})
		}
	}
}
