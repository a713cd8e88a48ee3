package probe

import (
	"context"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/internal/quote"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
)

// Sample is what a bounded look at a master's keys found.
type Sample struct {
	Scanned  int
	Tokens   []string // strings with an expiry and a random value, as redsync and bsm/redislock have
	Redisson []string // locks that clients of Redisson have
	Wrong    []string // keys that begin as the library's own and are of another type
}

// SlowCommand is an entry of SLOWLOG.
type SlowCommand struct {
	Command string // its first word
	Took    time.Duration
}

var errLongName = errors.New("the name of a key or a field is too long")

// Bounds of the look at a master's keys.
const (
	scanCount = 500
	scanTimes = 4
)

// lookAround looks at the log of slow commands and at some of the keys, if the user may. It comes last, since a reply
// that is too long ends the connection.
func (p *probe) lookAround(context.Context) error {
	replies, err := p.conn.Ask([]any{"SLOWLOG", "GET", 32})
	if err != nil {
		return err
	}
	p.unseen("SLOWLOG", replies[0])
	entries, _ := redis.Values(replies[0], nil)
	for _, entry := range entries {
		if e := slowCommand(entry); e.Took > p.facts.Slow.Took {
			p.facts.Slow = e
		}
	}
	err = p.sampleKeys()
	if errors.Is(err, server.ErrReply) {
		p.hidden("SCAN", errLongName)
		return nil
	}
	return err
}

// slowCommand reads an entry of SLOWLOG: number, time, how long it took in µs, words.
func slowCommand(entry any) SlowCommand {
	parts, _ := redis.Values(entry, nil)
	if len(parts) < 4 {
		return SlowCommand{}
	}
	took, err := redis.Int64(parts[2], nil)
	words, _ := redis.Strings(parts[3], nil)
	if err != nil || len(words) == 0 {
		return SlowCommand{}
	}
	return SlowCommand{Command: quote.Brief(strings.ToUpper(words[0]), quote.Most), Took: time.Duration(took) * time.Microsecond}
}

// sampleKeys looks at 2,000 keys or so.
func (p *probe) sampleKeys() error {
	cursor, start := uint64(0), clock.Now()
	for range scanTimes {
		replies, err := p.conn.Ask([]any{"SCAN", cursor, "COUNT", scanCount})
		if err != nil {
			return err
		}
		if p.unseen("SCAN", replies[0]) {
			return nil
		}
		var keys []string
		if keys, cursor, err = script.Scanned(replies[0]); err != nil {
			return err
		}
		if err := p.lookAt(keys); err != nil {
			return err
		}
		if cursor == 0 || clock.Since(start) > tripsTime {
			return nil
		}
	}
	return nil
}

// lookAt sorts keys by what they look like. Values stay here.
func (p *probe) lookAt(keys []string) error {
	var kinds, closer [][]any
	for _, key := range keys {
		kinds = append(kinds, []any{"TYPE", key})
	}
	types, err := p.conn.Ask(kinds...)
	if err != nil {
		return err
	}
	var names []string
	for i, key := range keys {
		kind, err := redis.String(types[i], nil)
		if err != nil {
			continue // the user may not look at it
		}
		p.facts.Sample.Scanned++
		look := map[string][]any{"string": {"GETRANGE", key, 0, maxToken}, "hash": {"HRANDFIELD", key, 1}}[kind]
		switch {
		case script.Reserved(key) != "":
			if kind != script.TypeOf(key) && kind != "none" {
				p.facts.Sample.Wrong = append(p.facts.Sample.Wrong, quote.Brief(key, quote.Most))
			}
		case look != nil:
			closer, names = append(closer, look, []any{"PTTL", key}), append(names, key)
		}
	}
	replies, err := p.conn.Ask(closer...)
	if err != nil {
		return err
	}
	for i, key := range names {
		if refusal, refused := replies[2*i].(redis.Error); refused && server.Denied(refusal) {
			p.unseen("GETRANGE", refusal)
			return nil
		}
		ttl, _ := replies[2*i+1].(int64)
		switch value := replies[2*i].(type) {
		case []byte:
			if looksLikeToken(string(value)) && 0 < ttl && ttl <= longestForeign.Milliseconds() {
				p.facts.Sample.Tokens = append(p.facts.Sample.Tokens, quote.Brief(key, quote.Most))
			}
		case []any:
			if field, _ := redis.Strings(value, nil); len(field) == 1 && redissonOwner.MatchString(field[0]) {
				p.facts.Sample.Redisson = append(p.facts.Sample.Redisson, quote.Brief(key, quote.Most))
			}
		}
	}
	return nil
}

const (
	maxToken       = 64
	longestForeign = time.Hour // a lock's lease is shorter
)

// redissonOwner is who has a lock of Redisson: a client and a thread. Ours end in r and a number.
var redissonOwner = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}:\d+$`)

// token is what other libraries set as the value of a lock: 16 random bytes or more, in base64
// (redsync, bsm/redislock), in hexadecimal (node-redlock), or as a UUID.
var token = regexp.MustCompile(`^([A-Za-z0-9+/_-]{22}(==)?|[0-9a-f]{32}|[0-9a-f]{40}|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})$`)

// looksLikeToken reports whether value could be one, and is no number.
func looksLikeToken(value string) bool {
	_, err := strconv.ParseFloat(value, 64)
	return err != nil && token.MatchString(value)
}

// lookAtUses asks how clients use the master, and who they are.
func (p *probe) lookAtUses(context.Context) error {
	replies, err := p.conn.Ask(script.LookAtUses().Words(nil, false))
	if err != nil {
		return err
	}
	p.unseen("redlock_sets", replies[0])
	p.facts.Uses, _ = script.ReadUses(replies[0])
	p.facts.Users = make(map[string]script.Record)
	var who [][]any
	for _, u := range p.facts.Uses {
		who = append(who, script.LookUp(u.By).Words(nil, false))
	}
	if replies, err = p.conn.Ask(who...); err != nil {
		return err
	}
	for i, u := range p.facts.Uses {
		if r, ok := script.ReadRecord(replies[i]); ok {
			p.facts.Users[u.By] = r
		}
	}
	return nil
}
