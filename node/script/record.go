package script

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// What clients keep at the masters about themselves. No lock depends on it.
//
//	redlock_client:{uuid}  a client's record, as JSON
//	redlock_sets           a hash of the sets of masters in use, see Use

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
	Set     string `json:"set"` // the masters that it uses
}

// String names the client: "orders-api on host-7 (pid 4242)".
func (r *Record) String() string { return fmt.Sprintf("%s on %s (pid %d)", r.Name, r.Host, r.PID) }

// Publish keeps the record of client at a master, in place of the one before, for RecordLife.
//
// Cost: one command.
func (r *Record) Publish(client string) *Command {
	text, _ := json.Marshal(r) // strings and numbers
	return Plain("SET", clientKey(client), text, "PX", RecordLife.Milliseconds())
}

// Retract takes the record of client away.
//
// Cost: one command.
func Retract(client string) *Command { return Plain("DEL", clientKey(client)) }

// LookUp asks for the record of client. ReadRecord reads the reply.
//
// Cost: one command.
func LookUp(client string) *Command { return Plain("GET", clientKey(client)) }

// ReadRecord returns the record that the reply to a LookUp has. ok is false if there is none, or it is
// not one.
func ReadRecord(reply any) (r Record, ok bool) {
	text, ok := reply.([]byte)
	return r, ok && json.Unmarshal(text, &r) == nil
}

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

// Use is a set of masters that some client uses, as one of them knows it. Times are ms by the master's
// clock.
type Use struct {
	Set         string // a field of the hash
	First, Last int64  // when it was published first, as far as is known, and last
	Client      string // who published it last; empty if that has no record
}

// Publish notes at a master that the set is in use. What is kept there of sets ends RecordLife after
// the last time that any is published.
//
// Cost: two commands, in one write.
func (u *Use) Publish() []*Command {
	value := strconv.FormatInt(u.First, 10) + " " + strconv.FormatInt(u.Last, 10) + " " + u.Client
	return []*Command{
		Plain("HSET", setsKey, u.Set, value),
		Plain("PEXPIRE", setsKey, RecordLife.Milliseconds()),
	}
}

// Uses asks for the sets that are in use. ReadUses reads the reply.
//
// Cost: one command.
func Uses() *Command { return Plain("HGETALL", setsKey) }

// ReadUses returns the sets that the reply to Uses has. What is no such set has zero times.
func ReadUses(reply any) []Use {
	pairs, err := redis.Strings(reply, nil)
	if err != nil || len(pairs)%2 != 0 {
		return nil
	}
	list := make([]Use, 0, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		u := Use{Set: pairs[i]}
		if words := strings.SplitN(pairs[i+1], " ", 3); len(words) == 3 {
			first, err1 := strconv.ParseInt(words[0], 10, 64)
			last, err2 := strconv.ParseInt(words[1], 10, 64)
			if err1 == nil && err2 == nil && first > 0 && first <= last {
				u.First, u.Last, u.Client = first, last, words[2]
			}
		}
		list = append(list, u)
	}
	return list
}

// Forget takes sets out of what a master knows of them.
//
// Cost: one command.
func Forget(sets []string) *Command {
	args := make([]any, 0, 1+len(sets))
	args = append(args, setsKey)
	for _, set := range sets {
		args = append(args, set)
	}
	return Plain("HDEL", args...)
}
