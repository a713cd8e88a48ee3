package node

import "example.com/redlock/node/script"

// Commands of the connection itself, which carry no script.
var (
	// ping keeps an eye on a connection that carries nothing else. A master that can write
	// nothing to its disk says so to a PING, and not to a TIME.
	ping = &script.Command{}

	// askRole asks whether the master is one still, and was one all the time.
	askRole = &script.Command{}

	// AskTime asks a master for its time, which [Node.Time] tells from then on. The answer is
	// Done, also where the master refuses to tell.
	//
	// Cost: one round trip.
	AskTime = &script.Command{}
)
