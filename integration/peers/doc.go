// Command peers is the client process of a trial of other libraries: see package workload. Config.Locker says
// which:
//
//   - redsync is go-redsync/redsync over go-redis, as its README has it. A caller waits for the answers of
//     all masters.
//   - redsync-ff is the same with WithFailFast(true): a caller returns at a majority's answers.
//   - single is bsm/redislock: a lock on the first master alone.
//
// Each adapter does what the library's documentation tells a careful user to do, and what makes it safer or
// quicker without changing the library. None of the libraries has fencing tokens or a signal of loss, so a
// hold counts as valid until the time that the library tells. None renews by itself, so callers extend
// their holds every third of the lease, as this library does.
package main
