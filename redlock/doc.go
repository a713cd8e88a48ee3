// Package redlock locks a name so that at most one holder in a whole fleet acts on it,
// by a majority of N independent Redis masters (the Redlock algorithm).
//
// # Usage
//
//	client, err := redlock.New(redlock.Config{Masters: []string{"10.0.0.1:6379", "10.0.0.2:6379", "10.0.0.3:6379"}})
//	…
//	defer client.Close()
//
//	hold, err := client.Lock(ctx, "orders:42")
//	if err != nil {
//		return err
//	}
//	defer hold.Unlock(ctx)
//	write(hold.Context(), hold.Token())
//
// [Client.Lock] waits until the lock is held or its context ends, and a watchdog renews
// the hold until Unlock. [Client.LockFor] takes a fixed lease, which nothing renews. The
// Try forms do not wait. [Client.Do] locks, runs a function and unlocks.
//
// Callers that wait, in the whole fleet, stand in a queue on the masters, and an Unlock
// passes the lock to the first of them.
//
// A hold survives the loss of any minority of the masters. When a majority cannot be
// reached, it ends with its validity: [Hold.Context] is cancelled then, at the latest,
// with a cause that matches [ErrLost].
//
// # Re-entry
//
// Locking a name again under [Hold.Context] enters the same hold once more, instead of
// waiting for itself. [WithOwner] gives a call tree one owner from its start. Each
// [Hold] is unlocked once, and the last Unlock frees the lock.
//
// # Caveats
//
// Masters run Redis 6.2 or later, or Valkey. Older ones are refused.
//
// A lock with a lease is no barrier by itself: a process that was paused for longer
// than its lease goes on where it was when it wakes. Whatever must be safe against that
// checks [Hold.Token], which grows with every hold of the name; [Token] finds it in a
// context.
//
// The watchdog keeps a lock for a holder that hangs as well, unless [Config.MaxHold] bounds
// that. It does not for a [Hold] that was dropped without Unlock, once the garbage
// collector finds it: the lock is lost then, at the end of its validity, and
// [Config.Logger] is told.
//
// Masters must be independent, with no replication between them. A master that
// restarted grants no holds until [Config.RestartGuard] has passed, so a fresh fleet
// makes its first client wait once: [Client.Ready] waits for that at the start of a service.
//
// # Concurrency
//
// All methods may be called from any goroutine. A [Client] runs two goroutines per
// master, two more once a caller has had to wait, and one watchdog, whatever the number
// of holds and waiting callers.
//
// # Errors
//
// errors.Is finds [ErrTaken], [ErrNoQuorum], [ErrGuarded], [ErrLost], [ErrNotHeld] and
// [ErrClosed]. ErrGuarded is a kind of ErrNoQuorum that time alone heals: masters restarted lately.
// What the masters said is in a [*MajorityError]. A wait that was cut short matches its
// context's error as well as what it was waiting for; where that was a hold of the same
// client, there is no MajorityError, since no master was asked.
//
// [Client.Lock] waits through errors that pass by themselves, such as an outage, and tells
// [Config.Logger] why. When so many masters report one that does not, such as a wrong
// password, that no majority is left, it returns ErrNoQuorum at once. docs/operations.md
// lists which is which. [Client.Ready] tells beforehand.
package redlock
