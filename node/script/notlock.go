package script

import (
	"regexp"
	"strings"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/quote"
)

// NotLockError says that the key of a lock, or one that belongs to it, holds something
// else. It was left alone.
type NotLockError struct {
	What  string // "it holds a string", "it holds a hash of 2 fields"
	reply redis.Error
}

func (e *NotLockError) Error() string { return "the key is no lock: " + e.What }

func (e *NotLockError) Unwrap() error { return e.reply }

// Meaning turns an error reply to a script into a [*NotLockError] if it is one, and otherwise returns
// what it said.
func Meaning(reply redis.Error) error {
	reply = Said(reply)
	code, what, _ := strings.Cut(string(reply), " ")
	switch code {
	case "NOTLOCK":
		return &NotLockError{What: inWords(what), reply: reply}
	case "WRONGTYPE":
		return &NotLockError{What: "it, or one that belongs to it, holds a value of another type", reply: reply}
	}
	return reply
}

// inWords describes what holder.lua found, or fence.lua.
func inWords(what string) string {
	kind, fields, _ := strings.Cut(what, " ")
	switch kind {
	case "hash":
		if fields == "1" {
			return "it holds a hash whose only field is no owner"
		}
		return "it holds a hash of " + fields + " fields"
	case "zset":
		return "it holds a sorted set"
	case "string", "list", "set", "stream":
		return "it holds a " + kind
	case "counter":
		return "its fencing counter, " + fencePrefix + "…, is no positive number below 2^53"
	}
	return "it holds a value of type " + kind
}

// scripted is what Redis 6.2 puts before the error of a command that a script called, whether it is
// the answer to the whole script or to one of its steps.
var scripted = regexp.MustCompile(`^(ERR Error running script .*)?@user_script: ?\d+: -?`)

// place is what Redis 7 puts behind it.
var place = regexp.MustCompile(` script: [0-9a-f]{40}, on @user_script:\d+\.?$`)

// Said shortens an error reply to what it says. It takes out what Redis adds when the command was called by a script, so that
// the code word comes first; the arguments, which a server repeats that does not know the command, since those of AUTH are a
// password; and what is longer than any server's error. Every error of a master goes through here first.
func Said(reply redis.Error) redis.Error {
	text, _, _ := strings.Cut(string(reply), ", with args")
	text = scripted.ReplaceAllString(text, "")
	return redis.Error(quote.Brief(strings.TrimRight(place.ReplaceAllString(text, ""), " .:"), longestSaid))
}

// longestSaid is how many bytes of an error are kept. Those that are classified by more than their first word
// have the user's name before it.
const longestSaid = 300
