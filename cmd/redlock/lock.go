package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"example.com/redlock/redlock"
)

// lockFlags say what to lock, and how. The commands that take locks have them.
type lockFlags struct {
	Name    lockNames `env:"REDLOCK_NAME" placeholder:"NAME" help:"What to lock: the same as an argument. Given several times, all are locked together; in the variable, one name per line."`
	Shared  bool      `help:"Lock for reading: together with others who do, and not beside anybody who does not."`
	Permits permits   `placeholder:"K" help:"Take one of K permits of that name, instead of locking it: at most K have one at the same time. Everybody should name the same K, 1 to 1000."`
	Lease   positive  `default:"30s" env:"REDLOCK_LEASE" help:"How long the masters grant the lock for; it is renewed every third of that. If this machine dies, others can get the lock after that time. Above 30s, all clients of these masters need a --max-lease that is as long."`
	Wait    *patience `env:"REDLOCK_WAIT" placeholder:"DURATION" help:"How long to wait for the lock, such as 10s; 0 means one try. Default: forever, but not for clients whose settings conflict."`
	NoWait  bool      `help:"Try once: the same as --wait=0."`
	Quiet   bool      `short:"q" help:"Do not say who holds the lock while waiting for it."`

	guardWhy string // if the lease makes the restart guard longer than by default: a clause that says so
}

// under takes the lock, calls do, and unlocks. unlocked is the error of that; err says why there was no lock.
func (f *lockFlags) under(fleet *fleetFlags, own bool, from origins, stderr io.Writer, do func(grip, <-chan os.Signal, *slog.Logger)) (unlocked, err error) {
	client, err := fleet.open(time.Duration(f.Lease), "lease", from, stderr)
	if err != nil {
		return nil, err
	}
	defer closeSoon(client)
	if f.Lease > positive(defaultLease) && fleet.MaxLease == 0 && fleet.RestartGuard == 0 && !fleet.NoGuard {
		f.guardWhy = fmt.Sprintf("because %s makes the guard %v", from["lease"], time.Duration(f.Lease))
	}
	signals := listen(own)
	defer signal.Stop(signals)
	log := fleet.logger(stderr).With("name", strings.Join(f.Name, ", "))
	hold, err := f.acquire(client, from, signals, log, fleet.logger(stderr))
	if err != nil {
		return nil, err
	}
	do(hold, signals, log)
	ctx, cancel := context.WithTimeout(context.Background(), unlockLimit)
	defer cancel()
	return hold.Unlock(ctx), nil
}

// unnamed reports whether no name is given. A name that is given and empty is another mistake.
func (f *lockFlags) unnamed(from origins) bool { return f.Name == nil && from.onLine("name") }

// check refuses what can be refused without asking a master, where the names have prefix in front of them.
func (f *lockFlags) check(prefix string, from origins) error {
	if len(f.Name) == 0 {
		f.Name = []string{""} // which the library refuses
	}
	if f.NoWait && f.Wait != nil {
		if from.onLine("wait") {
			return fail(exitUsage, "--wait and --no-wait cannot be used together")
		}
		f.Wait = nil // from the environment: the flag wins
	}
	switch {
	case f.Shared && f.Permits > 0:
		return fail(exitUsage, "--shared and --permits cannot be used together: permits are not locked for reading")
	case len(f.Name) > 1 && f.Shared:
		return fail(exitUsage, "--shared takes one %s, not %d", from["name"], len(f.Name))
	case len(f.Name) > 1 && f.Permits > 0:
		return fail(exitUsage, "--permits takes one %s, not %d", from["name"], len(f.Name))
	}
	// The command of redlock run inherits REDLOCK_NAME, so a second redlock run inside the first would
	// ask for the same lock by default, and wait for the end of its own caller.
	outer := heldOutside()
	for i, entry := range f.entries(prefix) {
		if slices.Contains(outer, entry) {
			return fail(exitUsage, "this already runs inside a redlock run that holds %q (if it does not, unset REDLOCK_HELD)", f.Name[i])
		}
	}
	return nil
}

// entries are what REDLOCK_HELD has of the names, which have prefix in front of them on the masters. The permits of a
// name are another thing than its lock.
func (f *lockFlags) entries(prefix string) (all []string) {
	kind := "lock"
	if f.Permits > 0 {
		kind = "permit"
	}
	for _, name := range f.Name {
		all = append(all, kind+" "+strconv.Quote(prefix+name))
	}
	return all
}

// heldOutside returns the entries of all redlock runs under which this redlock runs.
func heldOutside() []string {
	if !nested() {
		return nil
	}
	return strings.Split(os.Getenv("REDLOCK_HELD"), "\n")
}

// nested reports whether this redlock runs under a redlock run, whose lock REDLOCK_NAME then names.
func nested() bool { return os.Getenv("REDLOCK_TOKEN") != "" }

// once reports whether there is only one try.
func (f *lockFlags) once() bool {
	return f.NoWait || (f.Wait != nil && *f.Wait == 0)
}

// quoted returns the names for a message.
func (f *lockFlags) quoted() string {
	quoted := make([]string, len(f.Name))
	for i, name := range f.Name {
		quoted[i] = strconv.Quote(name)
	}
	return strings.Join(quoted, ", ")
}

// acquire waits for the lock as long as the flags allow, or until a signal ends the wait. Messages that name the lock
// themselves go to plain, which does not add the name.
//
// Goroutines: one, which says why the wait takes so long. It ends soon after the wait, and acquire waits for it.
func (f *lockFlags) acquire(client *redlock.Client, from origins, signals <-chan os.Signal, log, plain *slog.Logger) (grip, error) {
	ctx, release := untilSignal(signals)
	var says sync.WaitGroup
	if !f.Quiet {
		says.Go(func() { f.sayWhy(ctx, client, plain) })
	}
	hold, err := f.lock(ctx, client, log)
	by := release()
	says.Wait()
	if by != nil {
		// If the hold came just before the signal, closing the client releases it.
		return nil, fail(signalCode(by), "%w while waiting for %s", signalled{by}, f.quoted())
	}
	if err != nil {
		return nil, f.notAcquired(err, from)
	}
	for _, one := range holdsOf(hold) {
		log.Info("locked", "lock", one.Name(), "slot", one.Slot(), "token", one.Token(), "owner", one.Owner())
	}
	return hold, nil
}

// grip is what was locked: a hold, or several.
type grip interface {
	held
	Extend(ctx context.Context, lease time.Duration) error
	Unlock(ctx context.Context) error
}

// holdsOf returns the holds of a grip.
func holdsOf(g grip) (holds []*redlock.Hold) {
	if one, ok := g.(*redlock.Hold); ok {
		return []*redlock.Hold{one}
	}
	all := g.(*redlock.Holds)
	for _, name := range all.Names() {
		holds = append(holds, all.Hold(name))
	}
	return holds
}

func (f *lockFlags) lock(ctx context.Context, client *redlock.Client, log *slog.Logger) (grip, error) {
	if f.once() {
		return f.take(ctx, client, false)
	}
	if f.Wait != nil {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(*f.Wait))
		defer cancel()
	}
	wait := func(ctx context.Context) (grip, error) { return f.take(ctx, client, true) }
	return whole(ctx, log, time.Duration(f.Lease), wait)
}

// take waits for what the flags name, or tries once.
func (f *lockFlags) take(ctx context.Context, client *redlock.Client, wait bool) (grip, error) {
	one, all := client.TryLock, client.TryLockAll
	if wait {
		one, all = client.Lock, client.LockAll
	}
	switch {
	case f.Permits > 0:
		return one(ctx, f.Name[0], redlock.Permits(int(f.Permits)))
	case f.Shared:
		return all(ctx, f.Name, redlock.Shared())
	}
	return all(ctx, f.Name)
}

// tryAgain is the pause after failing to extend a hold.
const tryAgain = 200 * time.Millisecond

// lookAfter is the pause after a conflict with other clients, which may end.
const lookAfter = time.Second

// whole locks until it has a hold with its full lease. A hold that was handed over starts with a short lease, and the
// escalation would believe that it cannot be renewed.
//
// whole tries again only where that helps: after a hold that ended before it was extended, after too few answers and, if
// ctx has a deadline, after a conflict with other clients. Any other error would only repeat itself.
func whole(ctx context.Context, log *slog.Logger, full time.Duration, lock func(context.Context) (grip, error)) (grip, error) {
	var conflict error // the last one
	said := false
	_, bounded := ctx.Deadline()
	for {
		hold, err := lock(ctx)
		if bounded && conflicts(err) {
			if conflict == nil {
				log.Warn("waiting for other clients to end", "error", plain(err))
			}
			conflict = err
			select {
			case <-time.After(lookAfter):
				continue
			case <-ctx.Done():
			}
		}
		if conflict != nil && ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", ctx.Err(), conflict)
		}
		if err != nil {
			return nil, err
		}
		if err = hold.Extend(ctx, full); err == nil {
			return hold, nil
		}
		_ = hold.Unlock(ctx)
		if !errors.Is(err, redlock.ErrLost) && !errors.Is(err, redlock.ErrNoQuorum) {
			return nil, err
		}
		if !said {
			log.Warn("the lock was granted but could not be kept; trying again", "error", plain(err))
			said = true
		}
		select {
		case <-time.After(tryAgain):
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

// notAcquired adds to err what was tried, and its exit code.
func (f *lockFlags) notAcquired(err error, from origins) error {
	how := "and waiting would not help"
	switch {
	case f.once():
		how = "tried once"
	case f.Wait == nil && conflicts(err):
		how = "and not waited for: --wait does that"
	case f.Wait != nil && errors.Is(err, context.DeadlineExceeded):
		how = fmt.Sprintf("waited %v", time.Duration(*f.Wait).Round(time.Millisecond))
	}
	if f.guardWhy != "" && errors.Is(err, redlock.ErrGuarded) {
		how += "; masters that restarted grant nothing for so long " + f.guardWhy
	}
	if codeOf(err) != exitUsage {
		err = fmt.Errorf("not locked, %s: %w", how, err)
	}
	return refuse(err, from["name"])
}
