package integration

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	containers "example.com/redlock/integration/fleet"
	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
	"example.com/redlock/redlocktrace"
)

// aclRule matches the rule in docs/operations.md: a block of one line.
var aclRule = regexp.MustCompile(`(?m)^$\n    (ACL SETUSER locks .*)\n^$`)

// documentedRule returns the arguments of ACL as the docs give them, followed by more. The line has no quotes, so the
// server would split it as it is done here.
func documentedRule(t *testing.T, more ...string) []any {
	t.Helper()
	rule := aclRule.FindStringSubmatch(check.File(t, "../docs/operations.md"))
	if rule == nil || strings.ContainsAny(rule[1], `"'`) {
		t.Fatal("docs/operations.md has no ACL rule of one line without quotes")
	}
	var args []any
	for _, word := range append(strings.Fields(rule[1])[1:], more...) {
		args = append(args, word)
	}
	return args
}

// longLease is that of the clients of all: far longer than a busy machine stands still.
const longLease = 9 * time.Second

// all does all that clients may want from a master, as the user in urls: lock, enter again,
// renew, inspect, force, wait, give up, hand over, share, take permits, wait for Redisson, reconnect, and leave alone
// what is not a lock. The key of name begins with prefix. It returns the first error.
func (f *fleet) all(ctx context.Context, t *testing.T, prefix, name string, urls []string) (err error) {
	key := prefix + name
	failed := func(what string, e error) bool {
		if e != nil && err == nil {
			err = fmt.Errorf("%s: %w", what, e)
		}
		return err != nil
	}
	var clients []*redlock.Client
	var asked atomic.Int64 // rounds of those who wait
	trace := &redlocktrace.Trace{Asked: func(e redlocktrace.Asked) {
		if !e.Since.IsZero() {
			asked.Add(1)
		}
	}}
	for range 2 {
		client := f.client(redlock.Config{Masters: urls, Lease: longLease, Trace: trace, Prefix: prefix})
		defer client.Close()
		clients = append(clients, client)
	}
	for _, m := range f.masters {
		m.do(t, "SCRIPT", "FLUSH")
	}

	hold, e := clients[0].Lock(ctx, name)
	if failed("Lock", e) {
		return err
	}
	if hold, e := clients[1].TryLock(ctx, name); !errors.Is(e, redlock.ErrTaken) {
		return fmt.Errorf("TryLock of a taken name = %v, %v", hold, e)
	}
	again, e := hold.Enter(ctx)
	if failed("Lock again", e) || failed("Unlock again", again.Unlock(ctx)) || failed("Extend", hold.Extend(ctx, longLease)) {
		return err
	}
	if _, e := redlockadmin.Of(clients[0]).Inspect(ctx, name); failed("Inspect", e) {
		return err
	}

	// A waiter that asks more than once, and gives up.
	waits, giveUp := context.WithCancel(ctx)
	go func() { // ends when the waiter has asked again, at the latest with ctx
		for before := asked.Load(); asked.Load() < before+2 && ctx.Err() == nil; time.Sleep(5 * time.Millisecond) {
		}
		giveUp()
	}()
	if hold, e := clients[1].Lock(waits, name); !errors.Is(e, redlock.ErrTaken) {
		return fmt.Errorf("Lock given up = %v, %v", hold, e)
	}

	// Hand-offs until one may be Redisson's turn, see release.lua. Before that, each client waits
	// once, so that it has subscribed to what the masters publish.
	for i, turn := 0, false; i < 3 || !turn; i++ {
		turn = i >= 2 && hold.Token()%7 == 0
		got := make(chan error, 1)
		var next *redlock.Hold
		go func() { // ends when Lock returns, at the latest with ctx
			var e error
			next, e = clients[(i+1)%2].Lock(ctx, name)
			got <- e
		}()
		if failed("a waiter in the queue", f.queued(ctx, hold, queueOf(key), 1)) || failed("Unlock", hold.Unlock(ctx)) || failed("Lock passed on", <-got) {
			return err
		}
		hold = next
	}
	// A new connection to the same process kills the old one there.
	for _, m := range f.masters {
		m.do(t, "CLIENT", "KILL", "USER", "locks")
	}
	if failed("after the reconnect", renewed(ctx, hold, longLease)) {
		return err
	}
	if failed("Downgrade", hold.Downgrade(ctx)) {
		return err
	}
	reader, e := clients[1].Lock(ctx, name, redlock.Shared())
	if failed("RLock", e) || failed("Extend", reader.Extend(ctx, longLease)) || failed("Unlock of a reader", reader.Unlock(ctx)) {
		return err
	}
	if failed("Unlock", hold.Unlock(ctx)) {
		return err
	}

	f.wantFree(ctx, t, key) // Unlock returns with a majority
	for _, m := range f.masters {
		check.OK(t, m.javaLocks(key, 300*time.Millisecond))
	}
	if hold, e = clients[0].Lock(ctx, name); failed("Lock behind Redisson", e) {
		return err
	}
	if freed, e := redlockadmin.Of(clients[1]).ForceUnlock(ctx, name); failed("ForceUnlock", e) || !freed {
		return fmt.Errorf("ForceUnlock = %v, %w", freed, err)
	}
	_ = hold.Unlock(ctx) // it was lost

	if failed("permits", f.permits(ctx, name, clients)) {
		return err
	}
	for what, put := range map[string][]any{
		"a hash of 2 fields":                  {"HSET", key + ":user", "name", "bob", "age", 3},
		"a hash whose only field is no owner": {"HSET", key + ":one", "name", "bob"},
		"a string":                            {"SET", key + ":text", "bob"},
		"a sorted set":                        {"ZADD", key + ":set", 1, "bob"},
	} {
		key := put[1].(string)
		var before []any
		for _, m := range f.masters {
			m.do(t, put[0].(string), put[1:]...)
			before = append(before, m.do(t, "DUMP", key))
		}
		if _, e = clients[0].TryLock(ctx, strings.TrimPrefix(key, prefix)); e == nil || !strings.Contains(e.Error(), what) {
			return fmt.Errorf("TryLock of %s: %w", what, e)
		}
		if freed, e := redlockadmin.Of(clients[0]).ForceUnlock(ctx, strings.TrimPrefix(key, prefix)); e == nil || !strings.Contains(e.Error(), what) {
			return fmt.Errorf("ForceUnlock of %s: %v, %w", what, freed, e)
		}
		for i, m := range f.masters {
			if after := m.do(t, "DUMP", key); !reflect.DeepEqual(after, before[i]) {
				return fmt.Errorf("%s has changed %s", m.Name(), what)
			}
		}
	}
	return nil
}

// permits is what clients may want from a semaphore.
func (f *fleet) permits(ctx context.Context, name string, clients []*redlock.Client) error {
	admin, two := redlockadmin.Of(clients[0]), redlock.Permits(2)
	hold, err := clients[0].Lock(ctx, name, two)
	if err != nil {
		return fmt.Errorf("Acquire: %w", err)
	}
	other, err := clients[0].Lock(ctx, name, two)
	if err != nil {
		return fmt.Errorf("Acquire of the other: %w", err)
	}
	if err := errors.Join(other.Extend(ctx, longLease), hold.Extend(ctx, longLease)); err != nil {
		return fmt.Errorf("Extend: %w", err)
	}
	got := make(chan error, 1)
	var next *redlock.Hold
	go func() { // ends when Acquire returns, at the latest with ctx
		var e error
		next, e = clients[1].Lock(ctx, name, redlock.Permits(1))
		got <- e
	}()
	err = f.waits(ctx, hold, admin, name)
	if err := errors.Join(err, hold.Unlock(ctx), other.Unlock(ctx), <-got); err != nil {
		return fmt.Errorf("a permit that is handed off: %w", err)
	}
	if _, err := admin.InspectSemaphore(ctx, name); err != nil {
		return fmt.Errorf("Inspect: %w", err)
	}
	if freed, err := admin.ForceRelease(ctx, name); err != nil || !freed {
		return fmt.Errorf("ForceRelease = %v, %w", freed, err)
	}
	_ = next.Unlock(ctx) // it was lost
	return nil
}

// waits returns once a majority of the masters has somebody who waits for a permit, of which hold is one. Nobody waits
// any more once that is lost.
func (f *fleet) waits(ctx context.Context, hold *redlock.Hold, admin *redlockadmin.Admin, name string) error {
	for {
		seen, err := admin.InspectSemaphore(ctx, name)
		full := 0
		for _, m := range seen.Masters {
			if len(m.Queue) > 0 {
				full++
			}
		}
		switch {
		case full > len(f.masters)/2:
			return nil
		case ctx.Err() != nil, hold.Context().Err() != nil:
			return fmt.Errorf("nobody waits for a permit of %s: %w", name, errors.Join(err, ctx.Err(), context.Cause(hold.Context())))
		}
	}
}

// queued waits until a majority of the masters have at least many waiters in the queue for what hold has, which must
// not be lost meanwhile. On the others a waiter may already have a vote, since the lock was free there for a moment.
func (f *fleet) queued(ctx context.Context, hold *redlock.Hold, queue string, many int) error {
	for {
		full := 0
		for _, m := range f.masters {
			if in, err := redis.Int(m.try("ZCARD", queue)); err == nil && in >= many {
				full++
			}
		}
		if full > len(f.masters)/2 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("only %d masters have %d waiters in %s: %w", full, many, queue, ctx.Err())
		case <-hold.Context().Done():
			return fmt.Errorf("only %d masters have %d waiters in %s: %w", full, many, queue, context.Cause(hold.Context()))
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// queueOf returns the key of the queue for name.
func queueOf(name string) string { return "redlock_wait:{" + name + "}" }

// refused returns the keys, channels and commands that the masters have refused since their ACL logs
// were reset.
func (f *fleet) refused(t *testing.T) (what []string) {
	t.Helper()
	for _, m := range f.masters {
		log, err := redis.Values(m.do(t, "ACL", "LOG"), nil)
		check.OK(t, err)
		for _, entry := range log {
			fields, err := redis.Values(entry, nil)
			check.OK(t, err)
			said := make(map[string]string)
			for i := 0; i+1 < len(fields); i += 2 {
				key, _ := redis.String(fields[i], nil)
				said[key], _ = redis.String(fields[i+1], nil)
			}
			what = append(what, said["object"])
		}
	}
	return what
}

// TestPermissions: the user in the docs may do everything that a client does. A user who may not use
// INFO is told so.
func TestPermissions(t *testing.T) {
	ctx := begin(t)
	f := startFleet(ctx, t, containers.Config{Masters: 3})
	var urls []string
	for _, m := range f.masters {
		m.do(t, "ACL", documentedRule(t)...)
		urls = append(urls, "redis://locks:password@"+m.Addr())
	}

	t.Run("as documented", func(t *testing.T) {
		for _, prefix := range []string{"", "orders:"} {
			if err := f.all(ctx, t, prefix, strings.TrimPrefix("orders:42", prefix), urls); err != nil {
				t.Errorf("with Config.Prefix %q: %v", prefix, err)
			}
		}
		if what := f.refused(t); len(what) > 0 {
			t.Errorf("the masters refused %q", what)
		}
	})
	t.Run("a name outside of the prefix", func(t *testing.T) {
		client := f.client(redlock.Config{Masters: urls})
		_, err := client.TryLock(ctx, "invoices:1")
		check.That(t, errors.Is(err, redlock.ErrNoQuorum) && strings.Contains(err.Error(), "NOPERM"), "TryLock(invoices:1) = %v, want ErrNoQuorum and NOPERM", err)
	})
	t.Run("what belongs to others", func(t *testing.T) {
		others := f.client(redlock.Config{})
		permit, err := others.Lock(ctx, "billing:pool", redlock.Permits(1))
		check.OK(t, err)
		tenant, err := redis.Dial("tcp", f.masters[0].Addr(), redis.DialUsername("locks"), redis.DialPassword("password"))
		check.OK(t, err)
		defer tenant.Close()
		for _, cmd := range [][]any{
			{"GET", "billing:1"},
			{"DEL", "redlock_slot:{billing:pool}:0"},
			{"EVAL", "return redis.call('del', 'redlock_slot:{billing:pool}:0')", 0},
			{"ZADD", "redlock_wait:{billing:1}", 1, "me"},
			{"SET", "redlock_fence:{billing:1}", "9007199254740992"},
			{"SET", "redlock_fence:{billing:pool}:0", "9007199254740992"},
			{"PUBLISH", "redisson_lock__channel:redlock_slot:{billing:pool}:", "0"},
			{"PUBLISH", "redisson_lock__channel:{billing:1}", "0"},
		} {
			if reply, err := tenant.Do(cmd[0].(string), cmd[1:]...); err == nil || !strings.Contains(strings.ToLower(err.Error()), "perm") && !strings.Contains(err.Error(), "can't access") {
				t.Errorf("%v = %v, %v, want NOPERM", cmd, reply, err)
			}
		}
		mustUnlock(ctx, t, permit)
	})
	t.Run("no INFO", func(t *testing.T) {
		for _, m := range f.masters {
			m.do(t, "ACL", documentedRule(t, "-info")...)
		}
		client := f.client(redlock.Config{Masters: urls, RestartGuard: time.Minute})
		_, err := client.TryLock(ctx, "orders:42")
		check.That(t, errors.Is(err, redlock.ErrNoQuorum) && strings.Contains(err.Error(), "INFO"), "TryLock without INFO under a guard = %v, want ErrNoQuorum and INFO", err)
		unguarded := f.client(redlock.Config{Masters: urls})
		mustUnlock(ctx, t, mustLock(ctx, t, unguarded, "orders:42"))
	})
}

// TestPermissionsAreNeeded: if any one of the permissions in the docs is missing, something is
// refused.
func TestPermissionsAreNeeded(t *testing.T) {
	t.Parallel()
	ctx := begin(t)
	f := startFleet(ctx, t, containers.Config{Masters: 1})
	rule := documentedRule(t)
	for i, word := range rule {
		if !strings.ContainsAny(word.(string)[:1], "+~&") {
			continue
		}
		t.Run(word.(string), func(t *testing.T) {
			m := f.masters[0]
			m.do(t, "ACL", "LOG", "RESET")
			m.do(t, "ACL", slices.Delete(slices.Clone(rule), i, i+1)...)
			try, enough := context.WithCancel(begin(t))
			done := make(chan error, 1)
			go func() { // ends when the clients miss nothing, or with try
				err := errors.New("not tried")
				for err != nil && try.Err() == nil { // on a busy machine they may fail before they come to what is missing
					_, _ = m.try("FLUSHALL")
					err = f.all(try, t, "", "orders:42", []string{"redis://locks:password@" + m.Addr()})
				}
				done <- err
			}()
			missed := func(object string) bool {
				return strings.HasPrefix(object, strings.TrimSuffix(word.(string)[1:], "*"))
			}
			needed := false
			var failure error
			for open := true; open && !needed; {
				select {
				case failure = <-done:
					open = false
					close(done)
				case <-time.After(10 * time.Millisecond):
				}
				needed = slices.ContainsFunc(f.refused(t), missed)
			}
			enough()
			<-done
			check.That(t, needed, "without %s nothing of the kind is refused, so the docs ask for too much; the clients say %v", word, failure)
		})
	}
}
