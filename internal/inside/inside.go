// Package inside lets package redlockadmin look into a client of package redlock, which shows its users nothing of
// what operators need.
package inside

import (
	"example.com/redlock/multilock"
	"example.com/redlock/multilock/terms"
)

// Client is what a client has inside.
type Client struct {
	SetsOf  func(name string) []string                      // the IDs of the sets of masters of name
	At      func(name string) ([]*multilock.Masters, error) // these sets; an error if there cannot be such a name
	All     func(func(*multilock.Masters) error) error      // calls a function for each set, at the same time
	Outward func(error) error                               // an error as users see it
}

// Package redlock sets these when it is initialized, and nobody does afterwards.
var (
	Of   func(client any) Client            // looks into a *redlock.Client
	Info func(client *terms.ClientInfo) any // a *redlock.ClientInfo, as users see client
)
