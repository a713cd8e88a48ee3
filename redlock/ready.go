package redlock

import "context"

// Ready waits until a majority of the masters would grant a lock, and then returns nil: they
// are connected, their guards have passed, and their clocks are steady. A service calls it when
// it starts, and a health endpoint calls it with a short deadline.
//
// When ctx ends first, it returns a [*MajorityError] that names each master that is not ready and
// says why. It matches ctx's error and ErrNoQuorum, and ErrGuarded where masters restarted lately
// and nothing but time is needed. If so many masters report an error that does not pass by itself
// that no majority is left, it returns such an error at once, without ctx's error. ErrClosed: the
// client was closed.
//
// It writes nothing to the masters, so it does not see what only a write would show: a full memory,
// a missing permission. A master that has just died may still count as ready, for a second and
// Config.NodeTimeout at most.
//
// It returns a [*ConflictError] to a client that takes no lock, since others are established that use some of
// its masters in a way that does not go together with its own. They stay ready; see [Client.Conflict].
//
// Cost: one round trip the first time. The client watches its masters anyway.
func (c *Client) Ready(ctx context.Context) error {
	return c.masters.Ready(ctx)
}

// Conflict returns a [*ConflictError] if other clients use some of the masters in a way that does not go
// together with that of this client: with other masters, so that majorities need not meet, or with leases
// that are longer than a restart guard. It is nil as far as none is known, and does not stop a client that
// takes locks; see [ConflictError]. The log and Config.Trace have it as well.
//
// Cost: none.
func (c *Client) Conflict() error { return c.masters.Conflict() }
