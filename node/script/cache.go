package script

import (
	"slices"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// cached are the scripts that a master must have in its cache, each once: every command of a lock is an EVALSHA.
var cached = func() (list []*script) {
	for _, v := range verbs {
		if v.script != nil && !slices.Contains(list, v.script) {
			list = append(list, v.script)
		}
	}
	return list
}()

// Exist asks a master which scripts it has. [Missing] reads the reply.
//
// Cost: one command, some 2 µs of the master's time.
var Exist = func() string {
	words := []string{"SCRIPT EXISTS"}
	for _, s := range cached {
		words = append(words, s.sha.(string))
	}
	return strings.Join(words, " ")
}()

// Missing returns the commands that load what a master lacks, which replied this to [Exist]. A master keeps what
// was loaded so until it ends, or somebody flushes its scripts.
//
// Cost: some 5 µs of the master's time for each, and 50 µs for the first client that sends it.
func Missing(reply any) (loads [][]any, err error) {
	has, err := redis.Ints(reply, nil)
	if err != nil || len(has) != len(cached) {
		return nil, unexpected(reply)
	}
	for i, s := range cached {
		if has[i] == 0 {
			loads = append(loads, []any{"SCRIPT", "LOAD", s.source})
		}
	}
	return loads, nil
}
