// Package script holds the Lua scripts that a master runs, their keys and arguments, and the
// meaning of their replies and messages. It does no I/O. It serves package node: its API is not stable.
//
// A [Command] is one script with its arguments. The methods of an [Owner] make it, and [Renew],
// [Inspect] and [Force]. An [Answer] is what became of it. Package node carries the command to a
// master and returns the answer.
//
// # Concurrency
//
// Commands and owners do not change once they are made, and may be shared between goroutines.
//
// # Errors
//
// If the key holds something other than a lock, the error is a [*NotLockError]. Other error
// replies stay as the master sent them. See [Meaning].
package script
