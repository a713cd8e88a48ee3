package main

import (
	"context"
	"crypto/sha1"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node"
	"example.com/redlock/redlock"
)

// tokenless is redlock without fencing tokens: a master that grants a free lock does not
// read and write the lock's counter, and answers that the token proposed is the token. Its
// clients are the library's, on connections that cut the counter out of acquire.lua.
//
// What stays is what other scripts do with counters, for locks that are passed on or
// renewed, and the counter's key and the proposal on the wire, some 50 bytes for each master.
var tokenless = contender{
	name:    "tokenless",
	masters: mastersN,
	apart:   true,
	open: func(addresses []string, t times) (client, error) {
		return openTokenless(addresses, t, &scissors{script: "-- acquire.lua:", text: counterText})
	},
}

// counterText is what a grant has to do with the fencing counter, in acquire.lua.
const counterText = `local last = redis.call('get', counter)
if last then
  last = tonumber(last)
  assert(last, 'the fencing counter is no number')
  if last >= tonumber(proposal) then
    token = string.format('%.0f', last + 1)
  end
end
redis.call('set', counter, token, 'px', ttl)
`

// openTokenless fails when s can not cut the script as it should.
func openTokenless(addresses []string, t times, s *scissors) (client, error) {
	c := &tokenlessClient{pools: make([]*redis.Pool, len(addresses))}
	for i, address := range addresses {
		pool, _, err := node.Pool(address, t.patience) // what the library makes of an address
		if err != nil {
			return nil, err
		}
		dial := pool.DialContext
		pool.DialContext = func(ctx context.Context) (redis.Conn, error) {
			conn, err := dial(ctx)
			if err != nil {
				return nil, err
			}
			return &cutConn{wholeConn: conn.(wholeConn), s: s, names: make(map[string]any)}, nil
		}
		c.pools[i] = pool
	}
	var err error
	c.Client, err = redlock.New(redlock.Config{Pools: c.pools, Lease: t.lease, RestartGuard: -1, NodeTimeout: t.patience})
	if err != nil {
		return nil, err
	}
	// The first lock shows the scissors the script.
	h, err := c.TryLock(context.Background(), "tokenless")
	if err == nil {
		err = h.Unlock(context.Background())
	}
	if err := errors.Join(s.verdict(), err); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return c, nil
}

type tokenlessClient struct {
	ourClient
	pools []*redis.Pool
}

func (c *tokenlessClient) Close() error {
	err := c.ourClient.Close()
	for _, pool := range c.pools {
		err = errors.Join(err, pool.Close())
	}
	return err
}

// scissors cut a text out of one script.
type scissors struct {
	script string // how it begins
	text   string

	mu   sync.Mutex
	used bool
	err  error
}

// cut returns source, without the text if it is the script. One that can not be cut is left
// as it is, which verdict tells of.
func (s *scissors) cut(source string) string {
	if !strings.HasPrefix(source, s.script) {
		return source
	}
	n := strings.Count(source, s.text)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used = true
	if n != 1 {
		s.err = fmt.Errorf("the script that begins with %q has the text to cut out %d times, want once:\n%s", s.script, n, s.text)
		return source
	}
	return strings.Replace(source, s.text, "", 1)
}

// verdict says why the client does not do without the text.
func (s *scissors) verdict() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.used {
		return fmt.Errorf("the library sent no script that begins with %q", s.script)
	}
	return s.err
}

// wholeConn is all that the library needs of a connection.
type wholeConn interface {
	redis.ConnWithTimeout
	redis.ConnWithContext
}

// cutConn passes on what the library sends, which is all by Send, with another script in
// the place of the one that is cut.
//
// The masters know the uncut script from other clients, so its name must not reach them.
// That of a script whose source was not sent on this connection is replaced by
// one that no master knows: the library sends the source then.
type cutConn struct {
	wholeConn
	s     *scissors
	names map[string]any // of what is sent instead, by the library's name
	room  []any
}

var nobodysName any = strings.Repeat("0", 2*sha1.Size)

func (c *cutConn) Send(command string, args ...any) error {
	switch command {
	case "EVAL":
		source := args[0].(string)
		cut := c.s.cut(source)
		c.names[nameOf(source)] = nameOf(cut)
		return c.send(command, cut, args)
	case "EVALSHA":
		name := c.names[args[0].(string)]
		if name == nil {
			name = nobodysName
		}
		return c.send(command, name, args)
	}
	return c.wholeConn.Send(command, args...)
}

// send sends script in the place of the first of args, which belong to all masters.
func (c *cutConn) send(command string, script any, args []any) error {
	c.room = append(append(c.room[:0], script), args[1:]...)
	return c.wholeConn.Send(command, c.room...)
}

// nameOf returns the name that EVALSHA knows a script by.
func nameOf(source string) string {
	sum := sha1.Sum([]byte(source))
	return hex.EncodeToString(sum[:])
}
