package script

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"example.com/redlock/internal/quote"
)

// What clients keep at the masters about themselves. No step of a lock reads it.
//
//	redlock_client:{uuid}  a client's record, as JSON
//	redlock_sets           how clients use the masters, see uses.lua

const (
	clientPrefix = "redlock_client:"
	setsKey      = "redlock_sets"
)

// RecordLife is how long a master keeps what a client published last.
const RecordLife = time.Minute

// Record is what a client says of itself.
type Record struct {
	Name    string `json:"name"`
	Host    string `json:"host"`
	Program string `json:"program"`
	PID     int    `json:"pid"`
	Version string `json:"version"`
	Since   int64  `json:"since"` // ms since 1970, when the client was made
	At      int64  `json:"at"`    // the same by the masters' clocks, when this was published
	Holds   int    `json:"holds"`
	Waits   int    `json:"waits"`
	Terms   Terms  `json:"terms"`
}

// String names the client: "orders-api on host-7 (pid 4242)".
func (r *Record) String() string {
	return quote.Text(fmt.Sprintf("%s on %s (pid %d)", quote.Brief(r.Name, quote.Most), quote.Brief(r.Host, quote.Most), r.PID))
}

// Publish keeps the record of client at a master, in place of the one before, for RecordLife.
//
// Cost: one command.
func (r *Record) Publish(client string) *Command {
	c := *r
	c.Terms, _ = r.Terms.bounded()
	text, _ := json.Marshal(c) // strings and numbers
	return Plain("SET", clientKey(client), text, "PX", RecordLife.Milliseconds())
}

// Retract takes the record of client away.
//
// Cost: one command.
func Retract(client string) *Command { return Plain("DEL", clientKey(client)) }

// LookUp asks for the record of client. ReadRecord reads the reply.
//
// Cost: one command.
func LookUp(client string) *Command {
	return Plain("GETRANGE", clientKey(client), 0, longestRecord)
}

// longestRecord bounds what is read.
const longestRecord = 4 * longestTerms

// ReadRecord returns the record that the reply to a LookUp has. ok is false if there is none, or it is
// not one.
func ReadRecord(reply any) (r Record, ok bool) {
	text, ok := reply.([]byte)
	return r, ok && json.Unmarshal(text, &r) == nil && 0 <= r.Since && r.Since <= lastTime && 0 <= r.At && r.At <= lastTime
}

// lastTime is the last millisecond whose year has four digits: later ones cannot be written.
const lastTime = 253_402_300_799_999

// ScanClients is a Scan for records. ClientOf reads the keys that it finds.
func ScanClients(cursor uint64) *Command { return Scan(cursor, clientPrefix+"*", "string") }

// ClientOf returns the client whose record is at key, empty if that is no such key.
func ClientOf(key string) string {
	client, ok := strings.CutPrefix(key, clientPrefix+"{")
	if !ok || !strings.HasSuffix(client, "}") {
		return ""
	}
	return client[:len(client)-1]
}

func clientKey(client string) string { return clientPrefix + "{" + client + "}" }
