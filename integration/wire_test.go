package integration

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
)

// ownerForm is the form of Redisson's owners, a UUID, a colon and a number, with our mark before the
// number.
var ownerForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:r[0-9]+$`)

// TestOnTheWire: what is stored on the masters is what Redisson expects, and Redisson is told when the
// lock is free.
func TestOnTheWire(t *testing.T) {
	for name, channel := range map[string]string{
		"orders:42":   "redisson_lock__channel:{orders:42}",
		"orders:{42}": "redisson_lock__channel:orders:{42}",
	} {
		t.Run(name, func(t *testing.T) {
			ctx := begin(t, time.Minute)
			f := startFleet(ctx, t, fleetConfig{Masters: 3})
			client := f.client(redlock.Config{Lease: 10 * time.Second})
			var told []<-chan string
			for _, m := range f.masters {
				told = append(told, m.subscribe(t, channel))
			}

			hold := mustLock(ctx, t, client, name)
			wantHash := func(count int) {
				t.Helper()
				eventually(ctx, t, time.Second, "the hash of the lock", func() error { return f.hash(hold, name, count) })
			}
			wantHash(1)
			again, err := client.Lock(hold.Context(), name)
			if err != nil {
				t.Fatalf("Lock under the hold's context = %v, want to enter again", err)
			}
			if again.Count() != 2 {
				t.Errorf("Count() after entering again = %d, want 2", again.Count())
			}
			wantHash(2)
			mustUnlock(ctx, t, again)
			wantHash(1)
			for i, m := range f.masters {
				select {
				case payload := <-told[i]:
					t.Errorf("%s published %q on %s while the lock was held", m.name, payload, channel)
				default:
				}
			}

			mustUnlock(ctx, t, hold)
			for i, m := range f.masters {
				select {
				case payload := <-told[i]:
					if payload != "0" {
						t.Errorf("%s published %q on %s, want %q", m.name, payload, channel, "0")
					}
				case <-time.After(2 * time.Second):
					t.Errorf("%s published nothing on %s after Unlock", m.name, channel)
				}
			}
			f.wantFree(ctx, t, f.masters, name)
		})
	}
}

// hash compares the key on every master with what Redisson would have written.
func (f *fleet) hash(hold *redlock.Hold, name string, count int) error {
	if !ownerForm.MatchString(hold.Owner()) {
		return fmt.Errorf("Owner() = %q, want uuid:rN", hold.Owner())
	}
	for _, m := range f.masters {
		fields, err := redis.StringMap(m.try("HGETALL", name))
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if len(fields) != 1 || fields[hold.Owner()] != fmt.Sprint(count) {
			return fmt.Errorf("%s: HGETALL %s = %v, want %s: %d alone", m.name, name, fields, hold.Owner(), count)
		}
		left, err := redis.Int64(m.try("PTTL", name))
		if err != nil {
			return fmt.Errorf("%s: %w", m.name, err)
		}
		if left <= 0 || left > 10_000 {
			return fmt.Errorf("%s: PTTL %s = %d, want 1 to 10000", m.name, name, left)
		}
	}
	return nil
}

// subscribe returns the payloads that are published on a channel.
//
// Goroutines: one, which ends when its connection is closed at the end of the test.
func (m *master) subscribe(t *testing.T, channel string) <-chan string {
	t.Helper()
	conn, err := redis.Dial("tcp", m.direct, redis.DialConnectTimeout(time.Second))
	if err != nil {
		t.Fatalf("%s: %v", m.name, err)
	}
	t.Cleanup(func() { conn.Close() })
	subscription := redis.PubSubConn{Conn: conn}
	if err := subscription.Subscribe(channel); err != nil {
		t.Fatalf("%s: SUBSCRIBE %s: %v", m.name, channel, err)
	}
	if confirmed, ok := subscription.ReceiveWithTimeout(time.Second).(redis.Subscription); !ok {
		t.Fatalf("%s: SUBSCRIBE %s: %v", m.name, channel, confirmed)
	}
	payloads := make(chan string, 16)
	go func() {
		for {
			switch message := subscription.Receive().(type) {
			case redis.Message:
				payloads <- string(message.Data)
			case error:
				return
			}
		}
	}()
	return payloads
}

// javaOwner is a holder that can only be Redisson's.
const javaOwner = "7ee2cd4e-5d3b-4b6e-8f2a-6b1b6f1f2a10:1"

// javaHolds writes to the master what Redisson writes when it takes the lock.
func (m *master) javaHolds(t *testing.T, name string, lease time.Duration) {
	t.Helper()
	m.do(t, "HSET", name, javaOwner, 1)
	m.do(t, "PEXPIRE", name, lease.Milliseconds())
	m.log.event("%s: Redisson holds %s for %v", m.name, name, lease)
}

// TestRedissonHolds: Redisson's holder counts like one of ours.
func TestRedissonHolds(t *testing.T) {
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 3})
	client := f.client(redlock.Config{})

	t.Run("on a majority", func(t *testing.T) {
		const lease = time.Second
		start := time.Now()
		for _, m := range f.masters[:2] {
			m.javaHolds(t, "java", lease)
		}
		wantTaken(ctx, t, client, "java")
		inspection, err := client.Inspect(ctx, "java")
		if err != nil || !inspection.Held || inspection.Holder != javaOwner {
			t.Errorf("Inspect = %+v, %v, want it held by %s", inspection, err, javaOwner)
		}
		hold := mustLock(ctx, t, client, "java")
		if waited := time.Since(start); waited < lease*9/10 || waited > lease+2*time.Second {
			t.Errorf("Lock behind Redisson took %v, want about %v", waited, lease)
		}
		mustUnlock(ctx, t, hold)
	})
	t.Run("on a minority", func(t *testing.T) {
		f.masters[0].javaHolds(t, "few", time.Minute)
		mustUnlock(ctx, t, mustLock(ctx, t, client, "few"))
		fields, err := redis.StringMap(f.masters[0].do(t, "HGETALL", "few"), nil)
		if err != nil || len(fields) != 1 || fields[javaOwner] != "1" {
			t.Errorf("Redisson's own hash = %v, %v, want it untouched", fields, err)
		}
	})
}

// TestForeignValue: a key that is no lock is left alone, and its master has no vote.
func TestForeignValue(t *testing.T) {
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 3})
	client := f.client(redlock.Config{})
	untouched := func(m *master) {
		t.Helper()
		if got, err := redis.String(m.do(t, "GET", "report"), nil); err != nil || got != "quarterly" {
			t.Errorf("%s: GET report = %q, %v, want it untouched", m.name, got, err)
		}
	}

	f.masters[0].do(t, "SET", "report", "quarterly")
	mustUnlock(ctx, t, mustLock(ctx, t, client, "report"))
	untouched(f.masters[0])

	f.masters[1].do(t, "SET", "report", "quarterly")
	hold, err := client.TryLock(ctx, "report")
	if !errors.Is(err, redlock.ErrNoQuorum) {
		t.Fatalf("TryLock of a foreign value = %v, %v, want ErrNoQuorum", hold, err)
	}
	for _, m := range f.masters[:2] {
		wantNamed(t, err, m)
		untouched(m)
	}
	if !strings.Contains(err.Error(), "it holds a string") {
		t.Errorf("error %q does not say what the masters have: a string", err)
	}
	f.wantFree(ctx, t, f.masters[2:], "report")
}

// TestInspectAndForce: Inspect changes nothing, and ForceUnlock frees the lock whoever holds it.
func TestInspectAndForce(t *testing.T) {
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, fleetConfig{Masters: 3})
	a, b := f.client(redlock.Config{Lease: 2 * time.Second}), f.client(redlock.Config{})

	inspection, err := b.Inspect(ctx, "orders:42")
	if err != nil || inspection.Held || inspection.Left != 0 {
		t.Errorf("Inspect of a free name = %+v, %v, want it free", inspection, err)
	}
	f.wantFree(ctx, t, f.masters, "orders:42")

	hold := mustLock(ctx, t, a, "orders:42")
	eventually(ctx, t, time.Second, "all masters have it, not only the first two to answer", func() error {
		for _, m := range f.masters {
			if held, err := redis.Bool(m.try("EXISTS", "orders:42")); err != nil || !held {
				return fmt.Errorf("%s: held %v, %v", m.name, held, err)
			}
		}
		return nil
	})
	f.masters[2].kill(ctx, t)
	inspection, err = b.Inspect(ctx, "orders:42")
	if err != nil || !inspection.Held || inspection.Holder != hold.Owner() || inspection.Left <= 0 {
		t.Errorf("Inspect = %+v, %v, want it held by %s", inspection, err, hold.Owner())
	}
	if len(inspection.Masters) != 3 {
		t.Fatalf("Inspect reports %d masters, want 3", len(inspection.Masters))
	}
	for i, state := range inspection.Masters[:2] {
		if state.Err != nil || state.Holder != hold.Owner() || state.Count != 1 || state.Left <= 0 || state.Token <= 0 {
			t.Errorf("Inspect: %s says %+v, want the holder, count 1, time left and a token", f.masters[i].name, state)
		}
	}
	wantNamed(t, inspection.Masters[2].Err, f.masters[2])

	freed, err := b.ForceUnlock(ctx, "orders:42")
	if err != nil || !freed {
		t.Errorf("ForceUnlock = %v, %v, want true", freed, err)
	}
	select {
	case <-hold.Context().Done():
		if cause := context.Cause(hold.Context()); !errors.Is(cause, redlock.ErrLost) {
			t.Errorf("Cause after ForceUnlock = %v, want ErrLost", cause)
		}
	case <-time.After(4 * time.Second):
		t.Errorf("the hold lives 4s after ForceUnlock, want it to end within its lease of 2s")
	}
	if err := hold.Unlock(ctx); !errors.Is(err, redlock.ErrLost) {
		t.Errorf("Unlock after ForceUnlock = %v, want ErrLost", err)
	}
}
