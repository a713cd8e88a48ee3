// Package inside lets package redlockadmin look into a client of package redlock, which shows its users nothing of
// what operators need.
package inside

import (
	"example.com/redlock/multilock"
	"example.com/redlock/multilock/terms"
)

// Client is what a client has inside. Errors are as users see them, on one line, and name their set if there are several.
type Client struct {
	SetsOf func(name string) []string                                // the IDs of the sets of masters of name
	At     func(name string, f func(*multilock.Masters) error) error // calls f for each of these, in the order of their IDs
	All    func(f func(*multilock.Masters) error) error              // calls f for each set, at the same time
}

// Package redlock sets these when it is initialized, and nobody does afterwards.
var (
	Of   func(client any) Client            // looks into a *redlock.Client
	Info func(client *terms.ClientInfo) any // a *redlock.ClientInfo, as users see client
)
