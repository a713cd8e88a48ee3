// Package redlocktest is a fleet of Redis masters in memory, for tests and demonstrations
// of what happens to locks when masters die, restart empty, hang or are cut off.
//
// # Usage
//
//	func TestOrders(t *testing.T) {
//		synctest.Test(t, func(t *testing.T) { // optional: leases of 30 s pass at once
//			fleet := redlocktest.Start(t, 5)
//			client, err := redlock.New(redlock.Config{Pools: fleet.Pools()})
//			…
//			fleet.Master(0).Kill()
//			fleet.Master(1).Freeze()
//		})
//	}
//
// The masters run real scripts, on miniredis, and keys expire as time passes. They start a
// day old, so that no client waits for one that may have forgotten its votes; after
// [Master.Restart] clients do. For a client in another process there is [Fleet.URLs].
//
// # Faults
//
//	Kill, Restart, RestartWithData  the process ends; a new one has nothing, or the data
//	Freeze, Thaw                    the process stops, its kernel goes on: SIGSTOP, docker pause
//	Cut, Mend                       the network stops: a partition
//	Delay                           the network is slow
//	Refuse, SetRole, Password       the process answers, but not what a client hopes for
//	Skew, SetUptime                 the clock lies
//	FlushAll, Del, Set, …           the data is doctored
//
// What a client has sent is never lost while the process lives: a frozen or cut off master
// carries it out when it thaws or is mended, even if the client has closed its connection
// or gone long ago. Only a death or CLIENT KILL prevents that, and for commands of
// different connections no order is promised. Code that is right here does not rely on
// luck with sockets.
//
// # Concurrency
//
// Every method is safe for concurrent use, and may be called twice: to kill a dead master
// does nothing. A fleet made in a synctest bubble belongs to it: every wait in it is on a
// channel, a condition or a timer of the bubble, and [Fleet.Close] ends every goroutine.
// [Fleet.URLs] uses sockets and has no place in a bubble. Each connection has one
// goroutine at its master, and over TCP two more.
//
// # Errors
//
// Connections fail as TCP's do: with a [net.OpError] that wraps [os.ErrDeadlineExceeded],
// [net.ErrClosed], ECONNREFUSED or EPIPE, or with [io.EOF] when the master has closed.
// Nothing else returns an error; a port that cannot be had panics.
//
// # Caveats
//
// Where miniredis differs from Redis (7.0, side by side):
//   - Lua's tostring, .., %s and table.concat write a number from 1e14 up in full. Redis
//     writes 1.7636832001235e+15, so scripts need string.format('%.0f', n). As an argument
//     of redis.call, Redis writes it in full as well, up to 1e17.
//   - tonumber('1e3') is nil, and the libraries bit, struct and cmsgpack are missing.
//     os and goto are there, though Redis has neither.
//   - HKEYS and HGETALL are sorted; Redis keeps the order of insertion in small hashes.
//   - unpack of some thousand values fails; Redis's limit is near 8,000.
//   - Time left is exact. Redis keeps whole milliseconds, so a key may end up to 1 ms
//     early or late; TTL rounds down, Redis to the nearest second.
//   - A script that fails on its first run is not cached.
//   - Blocking commands are refused. INFO, CLIENT ID, CLIENT KILL and CONFIG GET are not
//     queued by MULTI.
package redlocktest
