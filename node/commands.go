package node

import (
	"slices"

	"example.com/redlock/node/script"
)

// checks are the commands that check the connection and the master. See [Activity] for when.
var checks = [...]*script.Command{ping, AskTime, askRole}

func isCheck(cmd *script.Command) bool { return slices.Contains(checks[:], cmd) }

// Commands of the connection itself, which run no script.
var (
	// ping tests a connection that carries nothing else. A master that cannot write to its
	// disk says so to a PING, but not to a TIME.
	ping = script.Plain("PING")

	// askRole asks whether the master is still one, and has been one all the time.
	askRole = script.Plain("INFO", "replication")

	// AskTime asks a master for its time, which [Node.Time] then returns. The answer is Done,
	// even if the master refuses to tell.
	//
	// Cost: one round trip.
	AskTime = script.Plain("TIME")
)
