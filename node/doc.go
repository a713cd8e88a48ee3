// Package node carries commands of package script to one Redis master, in order, over a connection of package server, and
// reports what became of each. It serves package multilock: its API is not stable.
//
// It knows nothing of the other masters. What it takes care of:
//
//   - Order. All commands travel on one connection, in the order of their Sends, so a release
//     never overtakes the acquire that it undoes.
//   - Outcomes. A command that was sent and not answered is [script.Unknown], not refused: a
//     frozen master runs it when it thaws.
//   - Unacknowledged releases. A release is sent again over new connections until the master has
//     answered it. Before that, the old connection is killed at the master, so that nothing
//     which is still buffered there can run later.
//   - Health. A master that answers nothing for [Config.Timeout] is down: commands to it are
//     answered at once, with the reason, while the node tries to connect in the background.
//   - Identity. No process has two votes, and one that restarted, or was a replica, grants nothing until what it may have
//     forgotten has ended.
//   - Scripts. Each new connection loads those that the master lacks, so that every command of a lock
//     runs its script by its hash. A master that loses them later is connected to again, at once.
//   - Votes that do not count. See [server.GuardedError], [server.UnsteadyError], and [Activity] for how soon that is known.
//   - Subscription. After [Node.Subscribe], a second connection to the same process receives the
//     hand-offs of locks to this client. See [Subscriber].
//
// # Concurrency
//
// All methods may be called from any goroutine. A Node runs one goroutine that connects and
// writes, and one that reads while it is connected; a subscription runs two more in the same way.
// [Node.Close] waits for all of them, but not for functions of the pool that do not heed their
// context, nor for Close of its connections: two of those may be left behind. Commands gather for
// the writer, and share a flush.
//
// # Errors
//
// They are those of package server. [Node.Error] names the master at which something went wrong.
package node
