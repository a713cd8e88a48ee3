// Package redlocktest provides Redis masters in memory, for tests and demonstrations of what happens
// to locks when masters die, restart empty, hang or are cut off.
//
// # Usage
//
//	func TestOrders(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) { // optional: a lease of 30 s takes no real time
//			fleet := redlocktest.Start(t, 5)
//			client, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
//			…
//			defer client.Close() // a bubble ends only when the client's goroutines have
//			fleet.Master(0).Kill()
//			fleet.Master(1).Freeze()
//		})
//	}
//
// The masters run real scripts, on miniredis, and keys expire as time passes. They start a day old,
// so that no client waits for a restart guard; after [Master.Restart], clients do wait for it. For a
// client in another process there is [Fleet.URLs].
//
// # Faults
//
//	Kill, Restart, RestartWithData  the process ends; a new one starts empty, or with the data
//	Freeze, Thaw                    the process stops, its kernel goes on: SIGSTOP, docker pause
//	Cut, Mend                       the network stops: a partition
//	Delay                           the network is slow
//	Wire                            the network of one client: cut one way, late, reset
//	Refuse, Fill, SetRole, Password the process answers, but refuses what a client wants
//	KillClients, FlushScripts       connections, or scripts, are gone
//	Skew, SetUptime                 the clock is wrong
//	FlushAll, Del, Set, …           the data is changed behind the clients' backs
//
// What a client has sent is never lost while the process lives: a frozen or cut-off master carries it
// out when it thaws or is mended, even if the client closed its connection long ago. Only the death
// of the process or CLIENT KILL prevents that. Commands on different connections are carried out in
// no particular order. Code that works here does not depend on lucky timing of sockets.
//
// # How a test loses a lock
//
// Restart a majority: the client notices at once. Cut, Freeze or Kill a majority: the hold ends with its validity, after
// 20 to 30 s with the default lease. ForceUnlock of package redlockadmin takes it away, which the client learns at its next
// renewal.
//
// Del and FlushAll do not do it, nor does Restart if the guard is off. A renewal heals: it brings back what the masters
// lack and nobody else has, so a test that waits for the end of the hold's context waits forever. Only an Unlock that
// comes before the renewal returns ErrLost.
//
// Lock returns once a majority has answered: call synctest.Wait before looking at what each master has.
//
// # Concurrency
//
// Every method is safe for concurrent use, and may be called twice: killing a dead master does
// nothing. A fleet that is made in a synctest bubble belongs to that bubble: all its waits are on
// channels, conditions and timers of the bubble, and [Fleet.Close] ends every goroutine.
// [Fleet.URLs] uses sockets, so it must not be called in a bubble. Each connection has one goroutine
// at its master, and two more over TCP.
//
// # Errors
//
// Connections fail as TCP connections do: with a [net.OpError] that wraps [os.ErrDeadlineExceeded],
// [net.ErrClosed], ECONNREFUSED or EPIPE, or with [io.EOF] when the master has closed the
// connection. No other method returns an error. [Fleet.URLs] and restarts panic if they cannot
// listen on a port.
//
// # Caveats
//
// Where miniredis differs from Redis (7.0, side by side):
//   - Lua's tostring, .., %s and table.concat write numbers of 1e14 and more in full. Redis writes
//     1.7636832001235e+15, so scripts need string.format('%.0f', n). Redis also writes arguments of
//     redis.call in full, up to 1e17.
//   - tonumber('1e3') is nil, and the libraries bit, struct and cmsgpack are missing. os and goto
//     exist, though Redis has neither.
//   - HKEYS and HGETALL are sorted; Redis keeps the order of insertion in small hashes.
//   - unpack of a few thousand values fails; Redis's limit is about 8,000.
//   - Times to live are exact. Redis keeps whole milliseconds, so a key may expire up to 1 ms early
//     or late. The command TTL rounds down; Redis rounds to the nearest second.
//   - A script that fails on its first run is not cached.
//   - On systems of 32 bits, an integer of more than 31 bits becomes -2^31 in a script's answer, and
//     is refused by PEXPIREAT. Both occur with readers and permits. Locks need neither, so there
//     these masters are good for locks, and not for the options Shared and Permits. The library
//     itself has no such limit, on a real server.
//   - Blocking commands are refused. INFO, CLIENT ID, CLIENT INFO, CLIENT KILL and CONFIG GET are not
//     queued by MULTI.
package redlocktest
