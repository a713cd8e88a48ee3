// Package script holds the Lua scripts that a master runs, and what goes to them and comes
// back: keys, arguments, the meaning of replies and of messages. It does no I/O.
//
// A [Command] is one script with its arguments, made by the methods of an [Owner] and by
// [Renew], [Inspect] and [Force]. An [Answer] is what became of it. Package node carries the one
// to a master and brings the other back.
//
// # Concurrency
//
// Commands and owners do not change once they are made, and may be shared. Nothing else is.
//
// # Errors
//
// What a script refused because a key holds something else is a [*NotLockError]; other
// errors of a master stay as it said them, see [Meaning].
package script
