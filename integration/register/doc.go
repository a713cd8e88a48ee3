// Package register is what locks protect: one register for each name that refuses writes with smaller
// fencing tokens than it has seen, and one that takes every write.
//
// A [Server] keeps the registers of a run, and records what it did with each write. A [Client] is the
// connection of one caller to it. Requests and replies are lines of JSON.
//
// # Concurrency
//
// Writes are carried out and recorded one after another. A Server has a goroutine that accepts and one for
// each connection; [Server.Close] ends them and waits. A client that does not read its replies holds up
// nobody else. A Client may be used by any number of goroutines, one call at a time.
//
// # Errors
//
// [ErrStale] is the register's refusal. Any other error means that no reply came in time: the write may or
// may not have been carried out, or may still be. Nothing is sent twice.
package register

import (
	"encoding/json"
	"errors"

	"example.com/redlock/internal/history"
)

// ErrStale means that a write with a larger token was accepted before.
var ErrStale = errors.New("register: the token is older than one that was accepted")

// request is one line from a client.
type request struct {
	Do    history.Do `json:"do"`
	Who   string     `json:"who,omitempty"`
	Hold  int        `json:"hold,omitempty"`
	Name  string     `json:"name"`
	Token int64      `json:"token,omitempty"`
	Base  int64      `json:"base,omitempty"`
	Value int64      `json:"value,omitempty"`
}

// reply is the server's line to it.
type reply struct {
	Value int64 `json:"value,omitempty"`
	Token int64 `json:"token,omitempty"`
	Stale bool  `json:"stale,omitempty"`
}

// line returns what goes over the connection. Requests and replies are always valid JSON.
func line(message any) []byte {
	text, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	return append(text, '\n')
}
