package node

import (
	"context"
	"slices"
	"strings"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
)

// Denial is a command, a key or a channel that the user may not use, or a command that the master does
// not know.
type Denial struct {
	What    string // as an ACL rule has it: "+hset", "~redlock_fence:{orders:*", "&redlock_wake:*"
	Err     error
	Without string // what does not work without it; empty: no lock can be had
}

// AllNames is the What of a Denial of Scratch where no Start was given.
const AllNames = "~*"

// what does not work without some permissions.
const (
	noAge   = "the master's age is unknown, and it grants nothing unless the restart guard is off"
	noKill  = "a lock that was released during an outage may stay taken until its lease ends"
	noWaits = "waiters are not told that a lock is theirs, and ask from time to time instead"
	noNames = "clients do not know each other by name, and sets of masters that overlap are not found"
	noCheck = "the connection cannot be checked"
)

// right is a command that clients need, with arguments that do no harm to a scratch key.
type right struct {
	rule    string
	words   []any
	without string
}

// rights lists every command that clients and their scripts use. It does not matter what the key holds
// by then: the permission is checked first. In this order, three of them would have to be refused for
// anything to be left.
func rights(key string) []right {
	const far = "9223372036854775807" // no connection has that number
	return []right{
		{"+eval", []any{"EVAL", "return 0", 1, key}, ""},
		{"+evalsha", []any{"EVALSHA", strings.Repeat("0", 40), 1, key}, ""},
		{"+set", []any{"SET", key, "1", "PX", scratchLease.Milliseconds()}, ""},
		{"+exists", []any{"EXISTS", key}, ""},
		{"+type", []any{"TYPE", key}, ""},
		{"+pttl", []any{"PTTL", key}, ""},
		{"+hset", []any{"HSET", key, "f", "1"}, ""},
		{"+hget", []any{"HGET", key, "f"}, ""},
		{"+hgetall", []any{"HGETALL", key}, ""},
		{"+hlen", []any{"HLEN", key}, ""},
		{"+hrandfield", []any{"HRANDFIELD", key}, ""},
		{"+hdel", []any{"HDEL", key, "f"}, ""},
		{"+zadd", []any{"ZADD", key, "1", "m"}, ""},
		{"+zrange", []any{"ZRANGE", key, "0", "0"}, ""},
		{"+zrank", []any{"ZRANK", key, "m"}, ""},
		{"+zscore", []any{"ZSCORE", key, "m"}, ""},
		{"+zmscore", []any{"ZMSCORE", key, "m"}, ""},
		{"+zcard", []any{"ZCARD", key}, ""},
		{"+zcount", []any{"ZCOUNT", key, 0, 1}, ""},
		{"+zincrby", []any{"ZINCRBY", key, 1, "m"}, ""},
		{"+zrem", []any{"ZREM", key, "m"}, ""},
		{"+zpopmin", []any{"ZPOPMIN", key}, ""},
		{"+get", []any{"GET", key}, ""},
		{"+mget", []any{"MGET", key}, ""},
		{"+getdel", []any{"GETDEL", key}, ""},
		{"+pexpire", []any{"PEXPIRE", key, scratchLease.Milliseconds()}, ""},
		{"+pexpireat", []any{"PEXPIREAT", key, 1}, ""},
		{"+del", []any{"DEL", key}, ""},
		{"+time", []any{"TIME"}, ""},
		{"+ping", []any{"PING"}, noCheck},
		{"+info", []any{"INFO", "server"}, noAge},
		{"+client|id", []any{"CLIENT", "ID"}, noKill},
		{"+client|kill", []any{"CLIENT", "KILL", "ID", far}, noKill},
	}
}

// rights are the rights to all commands, keys and channels.
func (p *probe) rights() []right {
	all := rights(p.Scratch)
	for pattern, key := range script.Families(p.Scratch, p.Start) {
		all = append(all, right{"~" + pattern, []any{"EVAL", "return 0", 1, key}, ""})
	}
	for pattern, key := range script.RecordFamilies() {
		all = append(all, right{"~" + pattern, []any{"EVAL", "return 0", 1, key}, noNames})
	}
	return append(
		all,
		right{"+publish", []any{"PUBLISH", script.HandOffChannel(p.client), "doctor"}, ""},
		right{"&redlock_wake:*", []any{"PUBLISH", script.HandOffChannel(p.client), "doctor"}, ""},
		right{"&" + script.FreedChannels(p.Scratch, p.Start), []any{"PUBLISH", script.FreedChannel(p.Scratch), "doctor"}, ""},
	)
}

// tryRights tries each command, key and channel by itself: a script that fails does not always say
// which of them the user may not use.
func (p *probe) tryRights() error {
	all := p.rights()
	commands := make([][]any, len(all))
	for i, r := range all {
		commands[i] = r.words
	}
	replies, err := p.ask(commands...)
	if err != nil {
		return err
	}
	for i, reply := range replies {
		refusal, refused := reply.(redis.Error)
		if refused && refuses(refusal, all[i].rule) {
			p.facts.Denials = append(p.facts.Denials, Denial{What: all[i].rule, Err: refusal, Without: all[i].without})
		}
	}
	slices.SortFunc(p.facts.Denials, func(a, b Denial) int { return strings.Compare(a.What, b.What) })
	return nil
}

// refuses reports whether a master that replies err refuses what rule would permit. It looks at the
// command first, and then at its keys and channels.
func refuses(err redis.Error, rule string) bool {
	if !denied(err) {
		return About(err) == "commands" && rule[0] == '+'
	}
	// "… to run the 'hset' command", "… one of the keys used as arguments", "… to access a channel"
	for _, about := range []struct {
		word string
		rule byte
	}{{"command", '+'}, {"channel", '&'}, {"key", '~'}} {
		if strings.Contains(string(err), about.word) {
			return rule[0] == about.rule
		}
	}
	return false
}

// tryEverything tries each permission, and locks the scratch name.
func (p *probe) tryEverything(ctx context.Context) error {
	defer p.clean()
	if err := p.tryRights(); err != nil {
		return err
	}
	if err := p.tryLocks(ctx); err != nil {
		return err
	}
	return p.timeScripts()
}

// clean deletes what the tries may have left.
func (p *probe) clean() {
	var commands [][]any
	for _, key := range script.Traces(p.Scratch, p.owners()...) {
		commands = append(commands, []any{"DEL", key}) // each alone: the user may not use all of them
	}
	_, _ = p.ask(commands...) // what stays has an expiry
}
