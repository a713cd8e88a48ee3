package redlock_test

import (
	"example.com/redlock/internal/history"
	"example.com/redlock/internal/tally"
)

// wanted are the things that TestSim is there to have happen, and how many of each ten seeds have at least.
var wanted = []tally.Event{
	// What callers were granted, and told.
	{Name: "grant", Least: 60},
	{Name: "enter", Least: 5},
	{Name: "extend", Least: 5},
	{Name: "downgrade", Least: 2},
	{Name: "lost", Least: 2},
	{Name: "accepted", Least: 30},
	{Name: "taken", Least: 5},
	{Name: "noquorum", Least: 1},

	// What was done to masters, the network and clients. The last of them need a seed of their kind.
	{Name: "kill-aof", Least: 1},
	{Name: "restart", Least: 1},
	{Name: "pause", Least: 1},
	{Name: "cut", Least: 1},
	{Name: "cut-client", Least: 1},
	{Name: "cut-there", Least: 1},
	{Name: "cut-back", Least: 1},
	{Name: "slow", Least: 1},
	{Name: "jitter", Least: 1},
	{Name: "lossy", Least: 1},
	{Name: "noise", Least: 1},
	{Name: "reset", Least: 1},
	{Name: "memory-full", Least: 1},
	{Name: "client-kill", Least: 1},
	{Name: "script-flush", Least: 1},
	{Name: "demote", Least: 1},
	{Name: "kill-empty"},
	{Name: "replace"},
	{Name: "flushall"},
	{Name: "eviction"},
	{Name: "clock-ahead"},
	{Name: "clock-back"},
	{Name: "clock-fast"},
	{Name: "clock-slow"},
	{Name: "client-kill-9"},
}

// kindOf names what an event counts as.
func kindOf(e history.Event) string {
	switch e.What {
	case history.Fault:
		return e.Fault
	case history.Called:
		return string(e.Do)
	case history.Returned:
		return string(e.Err)
	}
	return string(e.What)
}
