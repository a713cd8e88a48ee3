// Package redlock locks names on a majority of N independent Redis masters (the Redlock algorithm),
// so that at most one holder in a whole fleet acts on a name at a time.
//
// # Usage
//
//	client, err := redlock.New(redlock.Config{
//		Masters: []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"},
//	})
//	…
//	defer client.Close()
//
//	err = client.Do(ctx, "orders:42", func(ctx context.Context) error {
//		return write(ctx, redlock.Token(ctx))
//	})
//
// [Client.Do] waits for the lock, renews it while the function runs, and unlocks even after a panic. The function's
// context ends with the caller's, or before anybody else can get the lock.
//
// Where no function fits, [Client.Lock] returns a [Hold]:
//
//	hold, err := client.Lock(ctx, "orders:42")
//	if err != nil {
//		return err
//	}
//	defer hold.Unlock(ctx)
//	return write(hold.Context(), hold.Token())
//
// [Client.TryLock] does not wait. [Client.Lead] runs a function in the process that leads, and in another one when
// that process fails. [Client.LockAll] locks several names together. Whatever else a call wants is an [Option]: [Shared]
// to read together, [Lease] for a fixed time, and [Permits] for one of K permits instead of a lock:
//
//	client.Lock(ctx, "report", redlock.Shared())
//	client.TryLock(ctx, "orders:42", redlock.Lease(5*time.Second))
//	client.Do(ctx, "gpu", render, redlock.Permits(4))
//
// Options come at the end of a call rather than in names like RLock or TryLockFor, because they combine: three of them
// replace some twenty methods. LockAll takes all but Permits, and Lead all but Shared.
//
// The waiting callers of the whole fleet stand in a queue on the masters, and an Unlock hands the
// lock to the first of them.
//
// A hold survives the loss of any minority of the masters. When a majority cannot be reached, the
// hold ends with its validity: by then, [Hold.Context] is cancelled with a cause that matches
// [ErrLost].
//
// [NewSets] makes a client that spreads names over several sets of masters. With package redlockadmin, operators look
// at locks and free them. Package redlocktrace has the steps of each call, and package redlocktest has masters in
// memory, for tests.
//
// # Who holds a lock
//
// The code that has the [Hold] holds the lock. With [Hold.Enter], it locks the name once more instead of waiting for
// itself. Unlock each Hold once: the last Unlock frees the lock. A context is passed on to workers, so it does not
// identify the holder: a Lock of the name under the hold's own context returns [ErrHeld] at once. Code that cannot pass
// a Hold on begins a call tree with [WithOwner], in which Lock enters the locks that the tree holds.
//
// # Caveats
//
// Masters run Redis 6.2 or later, or Valkey. Older ones are refused.
//
// A lease is not a barrier: a process that was paused for longer than its lease carries on where it
// was when it wakes up. Whatever must be safe even then has to check [Hold.Token], which grows with
// every hold of the name; [Token] finds it in a context.
//
// The watchdog keeps renewing the lock of a holder that hangs, unless [Config.MaxHold] bounds that.
// It does not keep the lock of a [Hold] that was dropped without Unlock: once the garbage collector
// finds the Hold, this is logged, and the lock is lost at the end of its validity.
//
// Masters must be independent, with no replication between them. A master that restarted grants no
// holds until [Config.RestartGuard] has passed, so a fresh fleet makes its first clients wait once:
// [Client.Ready] waits for that when a service starts.
//
// # Concurrency
//
// All methods may be called from any goroutine. A [Client] runs two goroutines per master, two more per master once a
// caller has had to wait (with [Config.Keep] from the start), one for the watchdog, and one for [Config.Trace] if that
// is set, however many holds and waiting callers there are.
//
// # Errors
//
// errors.Is finds [ErrTaken], [ErrNoQuorum], [ErrGuarded], [ErrLost], [ErrNotHeld], [ErrNotAwaited], [ErrHeld],
// [ErrUpgrade] and [ErrClosed]. ErrGuarded is a kind of ErrNoQuorum that only needs time: masters restarted lately.
// ErrUpgrade is a kind of ErrHeld. A [*MajorityError] says what each master said. The error of a wait that was cut
// short matches its context's error, and also says what the caller was waiting for. If other callers of the same client
// were before it, no master was asked for it yet, and there may be no MajorityError.
//
// A client that takes no lock, because established clients use the masters with other settings, returns a
// [*ConflictError]: it matches [ErrOverlap], [ErrShortGuard], [ErrRoute] or [ErrLayout].
//
// [Client.Lock] waits through errors that pass by themselves, such as an outage, and logs the
// reason. It returns ErrNoQuorum at once when so many masters report an error that does not pass by
// itself, such as a wrong password, that no majority is left. docs/troubleshooting.md lists which errors
// pass. [Client.Ready] reports the others beforehand.
package redlock
