// Package node talks to one Redis master: it carries the lock's scripts there over
// one pipelined connection and says what became of each command.
//
// It knows nothing of the other masters. What it does know:
//
//   - Order. All commands to the master travel on one connection, in the order of
//     their Sends, so a release never overtakes the acquire it takes back.
//   - Outcomes. A command that was sent and not answered is [Unknown], not refused: a
//     frozen master carries it out when it thaws. See [Outcome].
//   - Debts. A release is repeated over new connections until the master answered
//     it. Before that, the old connection is killed on the master, so that what is
//     still buffered there cannot come after it.
//   - Health. A master that answers nothing for [Config.Timeout] is down: commands to
//     it are answered at once, with the reason, and it is probed in the background.
//   - Messages. A second connection, once [Node.Subscribe] was called, tells of locks that
//     the master passed to this client. It must lead to the same process. See [Subscriber].
//   - Identity. Each new connection asks which process it reached, what its role is and
//     how old it is. A replica is refused. A master younger than [Config.Guard], or that
//     was promoted from a replica lately, has forgotten its votes and grants no hold.
//   - Pace. Each second the master is asked for the time. While its clock runs ahead of
//     ours by more than leases allow for, its votes do not count. See [UnsteadyError].
//
// # Concurrency
//
// All methods may be called from any goroutine. A Node runs one goroutine that
// connects and writes, and one that reads while a connection is open; two more do
// so for subscriptions, after [Node.Subscribe]. [Node.Close] waits for all. A command
// that finds nothing else under way is written by who sends it, which saves a wake-up;
// others gather for the writer, and share a flush.
//
// # Errors
//
// Everything that went wrong at a master reaches the caller as an [*Error], which
// names the master. A timeout is an [ErrTimeout], never a context error, so it cannot
// be taken for the end of the caller's own context.
package node
