package script

import (
	"strconv"

	"github.com/gomodule/redigo/redis"
)

// Plain makes a command of Redis itself: it runs no script, and no owner has anything by it. The
// answer is Done with what the master replied, see [Answer.Reply], or Failed with its error as it is.
//
// Cost: one command.
func Plain(name string, args ...any) *Command {
	return &Command{args: append([]any{name}, args...)}
}

// scanned is how many keys a master looks at in one Scan: it does nothing else meanwhile.
const scanned = 100

// Scan asks a master for a part of the keys of type kind that match pattern, as SCAN has it. It begins
// with cursor 0; Scanned reads the reply.
//
// Cost: one command, some 20 µs of the master's time.
func Scan(cursor uint64, pattern, kind string) *Command {
	return Plain("SCAN", strconv.FormatUint(cursor, 10), "MATCH", pattern, "COUNT", scanned, "TYPE", kind)
}

// Scanned returns the keys that the reply to a Scan has, and the cursor of the next, 0 if there is none.
func Scanned(reply any) (keys []string, next uint64, err error) {
	var list []any
	two, err := redis.Values(reply, nil)
	if err != nil || len(two) != 2 {
		return nil, 0, unexpected(reply)
	}
	if _, err := redis.Scan(two, &next, &list); err != nil {
		return nil, 0, unexpected(reply)
	}
	if keys, err = redis.Strings(list, nil); err != nil {
		return nil, 0, unexpected(reply)
	}
	return keys, next, nil
}
