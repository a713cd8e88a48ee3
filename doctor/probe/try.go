package probe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/internal/awake"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
)

// AllNames is the What of a Denial of Scratch where no Start was given.
const AllNames = "~*"

// What does not work without some rights.
const (
	noKill  = "a lock that was released during an outage may stay taken until its lease ends"
	noNames = "clients do not know each other by name, and sets of masters that overlap are not found"
)

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
	"HSET KEY f 1, HGET KEY f, HLEN KEY, HRANDFIELD KEY, HDEL KEY f, " +
	"ZADD KEY 1 m, ZRANGE KEY 0 0, ZRANK KEY m, ZSCORE KEY m, ZCARD KEY, " +
	"ZREM KEY m, ZPOPMIN KEY, GET KEY, GETDEL KEY, " +
	"PEXPIRE KEY 5000, PEXPIREAT KEY 1, DEL KEY, TIME"

// rights are the rights to all commands, keys and channels.
func (p *probe) rights() []right {
	const far = "9223372036854775807" // no connection has that number
	noHash := strings.Repeat("0", 40) // of a script; its keys are checked even so
	all := []right{
		{"+eval", []any{"EVAL", "return 0", 1, p.Scratch}, noNames},
		{"+evalsha", []any{"EVALSHA", noHash, 1, p.Scratch}, ""},
		{"+script|exists", []any{"SCRIPT", "EXISTS", noHash}, ""},
		{"+script|load", []any{"SCRIPT", "LOAD", "return 0"}, ""},
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
	all = append(
		all,
		right{"+ping", []any{"PING"}, "the connection cannot be checked"},
		right{"+info", []any{"INFO", "server"}, "the master's age is unknown, and it grants nothing unless the restart guard is off"},
		right{"+client|kill", []any{"CLIENT", "KILL", "ID", far}, noKill},
		right{"+client|info", []any{"CLIENT", "INFO"}, noKill + ", and nobody notices clients of other databases of the same masters"},
		right{"+zremrangebyscore", []any{"ZREMRANGEBYSCORE", p.Scratch, 0, 0}, noNames},
		right{"+getrange", []any{"GETRANGE", p.Scratch, 0, 0}, noNames},
	)
	for pattern, key := range script.Families(p.Scratch, p.Start) {
		all = append(all, right{"~" + pattern, []any{"EVALSHA", noHash, 1, key}, ""})
	}
	for pattern, key := range script.RecordFamilies() {
		all = append(all, right{"~" + pattern, []any{"EVALSHA", noHash, 1, key}, noNames})
	}
	for pattern, channel := range script.FreedChannels(p.Scratch, p.Start) {
		all = append(all, right{"&" + pattern, []any{"PUBLISH", channel, "doctor"}, ""})
	}
	return append(
		all,
		right{"+publish", []any{"PUBLISH", script.HandOffChannel(p.client), "doctor"}, ""},
		right{"&redlock_wake:*", []any{"PUBLISH", script.HandOffChannel(p.client), "doctor"}, ""},
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
	replies, err := p.conn.Ask(commands...)
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
	if !server.Denied(err) {
		return server.About(err) == "commands" && rule[0] == '+'
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
	if slices.ContainsFunc(p.facts.Denials, func(d Refusal) bool { return d.What == "+del" }) {
		return nil // what a script leaves that fails halfway need not expire
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
	_, _ = p.conn.Ask(commands...) // what stays has an expiry
}

const (
	scratchLease = 5 * time.Second
	scratchToken = 1 // in the past of any other token
)

// trial is one command of a trial, and the outcome that it should have.
type trial struct {
	what string
	cmd  *script.Command
	want script.Outcome
}

var errNoHold = errors.New("did not find the hold")

// owner returns the n-th owner that the probe makes up.
func (p *probe) owner(n int) string { return fmt.Sprintf("%s:r%d", p.client, n) }

// owners are all that the probe makes up.
func (p *probe) owners() (all []string) {
	for n := range manyOwners {
		all = append(all, p.owner(n))
	}
	return all
}

const manyOwners = 8

// trials lock the scratch name as clients do: each step finds what those before it left. Where waits is
// false nobody is subscribed, and so nothing is handed off.
func (p *probe) trials(waits bool) []trial {
	name, token := p.Scratch, int64(scratchToken)
	entry := script.QueueEntry{Round: 1, Since: 1, Lease: scratchLease, Proposal: token}
	handed, behind := script.Refused, script.Done
	if waits {
		handed, behind = script.Done, script.Refused
	}
	renew := func(o *script.Owner) *script.Command {
		return script.Renew(scratchLease, []script.Renewal{{Owner: o, Count: 1, Token: token}})
	}
	lock := func(n int) *script.Owner { return script.NewOwner(name, p.owner(n)) }
	reader := func(n int) *script.Owner { return script.NewReader(name, p.owner(n)) }
	return []trial{
		{"acquire", lock(0).Acquire(scratchLease, token), script.Done},
		{"wait in the queue", lock(1).AcquireOrRegister(scratchLease, entry), script.Refused},
		{"enter again", lock(0).Enter(scratchLease, 2), script.Done},
		{"leave", lock(0).Leave(1), script.Done},
		{"renew", renew(lock(0)), script.Done},
		{"raise the token", lock(0).Raise(scratchLease, token+1), script.Done},
		{"inspect", script.Inspect(name), script.Done},
		{"hand off", lock(0).Release(token+1, 0), script.Done},
		{"release", lock(1).Release(token+2, entry.Since), handed},

		{"share", reader(2).Acquire(scratchLease, token), script.Done},
		{"wait for readers", lock(3).AcquireOrRegister(scratchLease, entry), script.Refused},
		{"renew a reader", renew(reader(2)), script.Done},
		{"release a reader", reader(2).Release(token, 0), script.Done},
		{"read behind a writer", reader(4).AcquireOrRegister(scratchLease, entry), behind},
		{"release to readers", lock(3).Release(token, entry.Since), handed},
		{"release a reader", reader(4).Release(token, entry.Since), script.Done},

		{"acquire", lock(5).Acquire(scratchLease, token), script.Done},
		{"free by force", script.Force(name, token), script.Done},
		{"heal", renew(lock(6)), script.Done},
		{"release", lock(6).Release(token, 0), script.Done},

		{"look for permits", script.Look(name, script.MaxPermits), script.Done},
	}
}

// tryLocks carries the trials out, and waits for the messages of the hand-offs.
func (p *probe) tryLocks(ctx context.Context) error {
	listener, err := p.listen(ctx)
	if err != nil {
		p.facts.Channel = err
	} else {
		defer listener.Close()
		defer context.AfterFunc(ctx, listener.Sever)()
	}
	all := p.trials(err == nil)
	if err := p.conn.LoadScripts(p.scripts); err != nil {
		return err
	}
	var calls [][]any
	for _, t := range all {
		calls = append(calls, t.cmd.Words(nil, false))
	}
	replies, err := p.conn.Ask(calls...)
	if err != nil {
		return err
	}
	for i, t := range all {
		if why := t.judge(replies[i]); why != nil {
			p.facts.Trials = append(p.facts.Trials, Refusal{What: t.what, Err: why})
		}
	}
	if listener != nil && len(p.facts.Trials) == 0 {
		p.facts.Channel = p.hear(listener)
	}
	return nil
}

// judge returns why a reply is not what it should be.
func (t *trial) judge(reply any) error {
	a := t.cmd.Decode(reply)
	switch {
	case a.Outcome == script.Failed:
		return a.Err
	case len(a.Errors) > 0:
		return a.Errors[0]
	case a.Outcome != t.want:
		return fmt.Errorf("was answered %v instead of %v", a.Outcome, t.want)
	case slices.Contains(a.Renewed, script.Absent) || slices.Contains(a.Renewed, script.Foreign):
		return errNoHold
	}
	return nil
}

// listen makes a connection that is subscribed to what is handed to the probe's owners.
func (p *probe) listen(ctx context.Context) (*server.Conn, error) {
	w, err := p.connect(ctx)
	if err != nil {
		return nil, err
	}
	replies, err := w.Ask(
		[]any{"SUBSCRIBE", "redlock_wake:unused"},
		[]any{"UNSUBSCRIBE", "redlock_wake:unused"},
		[]any{"SUBSCRIBE", script.HandOffChannel(p.client)},
		[]any{"SUBSCRIBE", script.FreedChannel(p.Scratch)},
	)
	for _, reply := range replies {
		if refusal, refused := reply.(redis.Error); refused && err == nil {
			err = refusal
		}
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// hear waits for the message of a hand-off.
func (p *probe) hear(listener *server.Conn) error {
	limit := awake.After(listener.Patience, listener.Sever)
	defer limit.Stop()
	for {
		channel, payload, err := listener.Message()
		if err != nil && limit.Over() {
			err = server.ErrTimeout
		}
		if err != nil {
			return fmt.Errorf("no message of a hand-off: %w", err)
		}
		if _, ok := script.Prefix("").DecodeHandOff(payload); ok && channel == script.HandOffChannel(p.client) {
			return nil
		}
	}
}

// timeScripts measures how long an acquire and a release take.
func (p *probe) timeScripts() (err error) {
	if len(p.facts.Trials) > 0 {
		return nil
	}
	n := manyOwners - 1
	o := script.NewOwner(p.Scratch, p.owner(n))
	acquire, release := o.Acquire(scratchLease, scratchToken).Words(nil, false), o.Release(scratchToken, 0).Words(nil, false)
	p.facts.Scripts, err = timed(func() (time.Duration, error) {
		sent := clock.Now()
		_, err := p.conn.Ask(acquire, release)
		return clock.Since(sent), err
	})
	return err
}
