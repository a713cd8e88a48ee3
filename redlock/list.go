package redlock

import (
	"context"
	"errors"

	"example.com/redlock/multilock/inspect"
)

// Listing is what [Client.List] found: Locks, and whether there may be More.
type Listing = inspect.Listing

// Listed is a lock or a semaphore that somebody has: its Name, Holder and Client, for how long (For, Left), its
// fencing Token, and how many wait for it. For all fields, see
//
//	go doc example.com/redlock/multilock/inspect.Listed
type Listed = inspect.Listed

// Clients returns the records of all clients of these masters that keep one, by name, host and process
// id: who uses the masters, since when, with which version of the library, and how much they hold and
// wait for. A client that died is among them for a minute.
//
// The error is a [*MajorityError] that matches ErrNoQuorum when fewer than a majority of the masters
// told. A user needs the permission +scan, which locks do without.
//
// Cost: on each master a SCAN for each hundred keys that it has, and a GET for each record. It is a tool
// for operators.
func (c *Client) Clients(ctx context.Context) ([]ClientInfo, error) { return c.masters.Clients(ctx) }

// List returns the locks and semaphores that somebody has and whose names match pattern, in the order of
// their names: at most limit, which is above 0. Pattern is that of Redis: * stands for any characters, ?
// for one, [ab] for one of those. Locks of Redisson's are among them; other keys are not. It searches for
// ten seconds at most; More says that there may be others.
//
// The error is a [*MajorityError] that matches ErrNoQuorum when fewer than a majority of the masters
// told. A user needs the permission +scan, which locks do without.
//
// Cost: on each master three SCAN for each hundred keys that it has, and a script call for each 16 names.
// It is a tool for operators.
func (c *Client) List(ctx context.Context, pattern string, limit int) (Listing, error) {
	if limit < 1 {
		return Listing{}, errors.New("redlock: the limit of a list is below 1")
	}
	return inspect.List(ctx, c.masters.Directory, pattern, limit)
}
