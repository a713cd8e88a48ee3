package node

import (
	"context"
	"slices"
	"strings"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
)

// AllNames is the What of a Denial of Scratch where no Start was given.
const AllNames = "~*"

// noKill is what does not work without the right to either of two commands.
const noKill = "a lock that was released during an outage may stay taken until its lease ends"

// right is a permission that clients need, and a command that tries it and does no harm to a scratch key.
type right struct {
	rule    string
	words   []any
	without string // what does not work without it; empty: no lock can be had
}

// scriptCommands are those that scripts use, with arguments for a scratch key. It does not matter what the
// key holds by then: the permission is checked first. In this order, three of them would have to be refused
// for anything to be left.
const scriptCommands = "SET KEY 1 PX 5000, EXISTS KEY, TYPE KEY, PTTL KEY, " +
	"HSET KEY f 1, HGET KEY f, HGETALL KEY, HLEN KEY, HRANDFIELD KEY, HDEL KEY f, " +
	"ZADD KEY 1 m, ZRANGE KEY 0 0, ZRANK KEY m, ZSCORE KEY m, ZMSCORE KEY m, ZCARD KEY, ZCOUNT KEY 0 1, " +
	"ZINCRBY KEY 1 m, ZREM KEY m, ZPOPMIN KEY, GET KEY, MGET KEY, GETDEL KEY, " +
	"PEXPIRE KEY 5000, PEXPIREAT KEY 1, DEL KEY, TIME"

// rights are the rights to all commands, keys and channels.
func (p *probe) rights() []right {
	all := []right{
		{"+eval", []any{"EVAL", "return 0", 1, p.Scratch}, ""},
		{"+evalsha", []any{"EVALSHA", strings.Repeat("0", 40), 1, p.Scratch}, ""},
	}
	for command := range strings.SplitSeq(scriptCommands, ", ") {
		var words []any
		for word := range strings.FieldsSeq(command) {
			if word == "KEY" {
				word = p.Scratch
			}
			words = append(words, word)
		}
		all = append(all, right{"+" + strings.ToLower(words[0].(string)), words, ""})
	}
	const far = "9223372036854775807" // no connection has that number
	all = append(
		all,
		right{"+ping", []any{"PING"}, "the connection cannot be checked"},
		right{"+info", []any{"INFO", "server"}, "the master's age is unknown, and it grants nothing unless the restart guard is off"},
		right{"+client|id", []any{"CLIENT", "ID"}, noKill},
		right{"+client|kill", []any{"CLIENT", "KILL", "ID", far}, noKill},
	)
	for pattern, key := range script.Families(p.Scratch, p.Start) {
		all = append(all, right{"~" + pattern, []any{"EVAL", "return 0", 1, key}, ""})
	}
	for pattern, key := range script.RecordFamilies() {
		all = append(all, right{"~" + pattern, []any{"EVAL", "return 0", 1, key},
			"clients do not know each other by name, and sets of masters that overlap are not found"})
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
	var commands [][]any
	for _, r := range all {
		commands = append(commands, r.words)
	}
	replies, err := p.wire.ask(commands...)
	if err != nil {
		return err
	}
	for i, reply := range replies {
		refusal, refused := reply.(redis.Error)
		if refused && refuses(refusal, all[i].rule) {
			p.facts.Denials = append(p.facts.Denials, Refusal{all[i].rule, refusal, all[i].without})
		}
	}
	slices.SortFunc(p.facts.Denials, func(a, b Refusal) int { return strings.Compare(a.What, b.What) })
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
	_, _ = p.wire.ask(commands...) // what stays has an expiry
}
