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
//	hold, err := client.Lock(ctx, "orders:42")
//	if err != nil {
//		return err
//	}
//	defer func() { err = errors.Join(err, hold.Unlock(ctx)) }() // ErrLost: we did not have it throughout
//	return write(hold.Context(), hold.Token())
//
// [Client.Lock] waits until the lock is held or its context ends, and a watchdog renews the hold
// until Unlock. [Client.LockFor] takes a fixed lease, which is not renewed. The Try forms do not
// wait. [Client.Do] locks, runs a function and unlocks. [Client.Lead] runs one in the process that
// leads, and in another when that fails.
//
// The waiting callers of the whole fleet stand in a queue on the masters, and an Unlock hands the
// lock to the first of them.
//
// A hold survives the loss of any minority of the masters. When a majority cannot be reached, the
// hold ends with its validity: by then, [Hold.Context] is cancelled with a cause that matches
// [ErrLost].
//
// # Re-entry
//
// Locking a name again under [Hold.Context] enters the same hold once more, instead of waiting for
// itself; so does the name of each hold around it. For any other name, each caller under that context
// is a new owner: goroutines of one job exclude each other. [WithOwner] gives a call tree one owner for
// all names. Unlock each [Hold] once; the last Unlock frees the lock.
//
// # Readers, permits, several names
//
// [Client.RLock] takes a name for reading: readers hold it together, and a writer, from
// [Client.Lock], alone. [Hold.Downgrade] turns a writer into a reader. [Client.Semaphore] limits
// how many permits of a name are held at a time. [Client.LockAll] takes several names in one hold,
// and [LockAll] does so across clients. [Sets] spreads names over several sets of masters.
//
// All of them have what a lock has: holds on a majority, a watchdog, a queue on the masters,
// fencing tokens, a context that ends with the hold, and the same errors.
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
// All methods may be called from any goroutine. A [Client] runs two goroutines per master, two more
// per master once a caller has had to wait, one for the watchdog, and one for [Config.Trace] if that
// is set, however many holds and waiting callers there are.
//
// # Errors
//
// errors.Is finds [ErrTaken], [ErrNoQuorum], [ErrGuarded], [ErrLost], [ErrNotHeld] and [ErrClosed].
// ErrGuarded is a kind of ErrNoQuorum that only needs time: masters restarted lately. What each
// master said is in a [*MajorityError]. The error of a wait that was cut short matches its
// context's error and also says what the caller was waiting for. If that was a hold of the same
// client, there is no MajorityError, since no master was asked.
//
// [Client.Lock] waits through errors that pass by themselves, such as an outage, and logs the
// reason. It returns ErrNoQuorum at once when so many masters report an error that does not pass by
// itself, such as a wrong password, that no majority is left. docs/troubleshooting.md lists which is
// which. [Client.Ready] reports such errors beforehand.
package redlock
