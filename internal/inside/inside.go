// Package inside lets package redlockadmin look into a client of package redlock, which shows its users nothing of
// what operators need.
package inside

import "example.com/redlock/multilock"

// Client is what a client has inside.
type Client struct {
	SetsOf  func(name string) []string                      // the IDs of the sets of masters of name
	At      func(name string) ([]*multilock.Masters, error) // these sets; an error if there cannot be such a name
	All     func(func(*multilock.Masters) error) error      // calls a function for each set, at the same time
	Outward func(error) error                               // an error as users see it
}

// Of looks into a *redlock.Client. Package redlock sets it when it is initialized, and nobody afterwards.
var Of func(client any) Client
