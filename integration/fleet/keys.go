package fleet

import (
	"fmt"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// Info returns what INFO tells of a section, or of all that it has by default.
func (m *Master) Info(section ...any) (map[string]string, error) {
	conn, err := m.Dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	return info(conn, section...)
}

func info(conn redis.Conn, section ...any) (map[string]string, error) {
	text, err := redis.String(conn.Do("INFO", section...))
	told := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			told[name] = value
		}
	}
	return told, err
}

// longest is how much of a key's content Keys tells, in bytes.
const longest = 200

// contents are the commands that return what a key of a type has. Of other types nothing is told but the name.
var contents = map[string][]any{
	"string": {"GET"},
	"hash":   {"HGETALL"},
	"list":   {"LRANGE", 0, 19},
	"set":    {"SMEMBERS"},
	"zset":   {"ZRANGE", 0, 19, "WITHSCORES"},
}

// Keys returns the keys that are left on the master, each with its type, the milliseconds until it expires
// (-1: never), and what is in it, cut short: "hash 1500 [b7:r1 1]". A key that goes meanwhile
// may be missing.
func (m *Master) Keys() (map[string]string, error) {
	keys, err := m.keys()
	return keys, m.did("list keys of", err)
}

func (m *Master) keys() (map[string]string, error) {
	conn, err := m.Dial()
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	names, err := redis.Strings(conn.Do("KEYS", "*"))
	if err != nil {
		return nil, err
	}
	keys := map[string]string{}
	for _, name := range names {
		kind, err := redis.String(conn.Do("TYPE", name))
		if err != nil {
			return nil, err
		}
		left, err := redis.Int64(conn.Do("PTTL", name))
		if err != nil {
			return nil, err
		}
		if kind == "none" { // it is gone
			continue
		}
		text := ""
		if command, ok := contents[kind]; ok {
			content, err := conn.Do(command[0].(string), append([]any{name}, command[1:]...)...)
			if err != nil {
				return nil, err
			}
			if content == nil { // it is gone
				continue
			}
			text = fmt.Sprintf("%s", content)
		}
		if len(text) > longest {
			text = text[:longest] + "…"
		}
		keys[name] = fmt.Sprintf("%s %d %s", kind, left, text)
	}
	return keys, nil
}
