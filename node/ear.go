package node

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Ear is told what a master publishes to this client. Its methods are called from one
// goroutine for each master, and must not block.
//
// What it hears is no more than a hint until it is checked: messages may be lost, come
// late, and come twice.
type Ear interface {
	// Passed is called when master i passed a lock to an owner of this client.
	Passed(i int, p Pass)
	// Freed is called when master i may have freed the lock at key without passing it on:
	// it is worth while to ask.
	Freed(i int, key string)
	// Listening is called when the subscription at master i begins to work, and when it
	// breaks. What was published in between is lost.
	Listening(i int, on bool)
}

// Pass says that a lock was passed to an owner, for the lease that the owner asked for.
type Pass struct {
	Owner  string
	Number uint64 // of the ask that the master had last carried out for Owner
	Token  int64  // fencing counter
	Key    string
}

// wakePrefix and a client's uuid make the channel on which it is told of passes, as
// pass.lua has it.
const wakePrefix = "redlock_wake:"

// ear is the connection on which a master publishes to this client.
type ear struct {
	n      *Node
	to     Ear
	i      int
	client string        // uuid
	wake   chan struct{} // tells that watched has changed
	gone   chan struct{} // closed when the goroutine has ended

	mu      sync.Mutex
	watched map[string]watched // by channel
}

// watched is a lock that one of Redisson's clients holds and callers here wait for.
type watched struct {
	key  string
	many int
}

// Listen begins to tell to, as number i, what the master publishes to client, on a
// connection of its own. It is called once, and goes on until Close.
func (n *Node) Listen(client string, to Ear, i int) {
	e := &ear{
		n: n, to: to, i: i, client: client,
		wake:    make(chan struct{}, 1),
		gone:    make(chan struct{}),
		watched: make(map[string]watched),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closing {
		return
	}
	n.ear = e
	// Goroutines: one that connects and writes, and while there is a connection one that
	// reads. They end with n.ctx, and Close waits for them.
	go e.keep()
}

// Watch has Ear.Freed called when one of Redisson's clients frees the lock at key, until
// Unwatch is called as often. It needs Listen.
func (n *Node) Watch(key string) { n.watch(key, 1) }

// Unwatch is the end of Watch.
func (n *Node) Unwatch(key string) { n.watch(key, -1) }

func (n *Node) watch(key string, more int) {
	n.mu.Lock()
	e := n.ear
	n.mu.Unlock()
	if e == nil {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	w := watched{key: key, many: e.watched[channel(key)].many + more}
	if w.many > 0 {
		e.watched[channel(key)] = w
	} else {
		delete(e.watched, channel(key))
	}
	select {
	case e.wake <- struct{}{}:
	default:
	}
}

// keep holds a subscription for as long as the node is open.
func (e *ear) keep() {
	defer close(e.gone)
	retry, said := firstRetry, ""
	for e.n.ctx.Err() == nil {
		heard, err := e.listen()
		if e.n.ctx.Err() != nil {
			return
		}
		if heard {
			retry, said = firstRetry, ""
			e.to.Listening(e.i, false)
		}
		if _, down := e.n.process(); down == nil && err.Error() != said {
			said = err.Error()
			e.n.cfg.Logger.Warn("redlock: no subscription: callers that wait ask the master from time to time",
				"master", e.n.cfg.Name, "error", err)
		}
		select {
		case <-time.After(retry/2 + rand.N(retry)):
		case <-e.n.ctx.Done():
		}
		retry = min(2*retry, lastRetry)
	}
}

// listen subscribes and passes on what is published until the connection breaks. heard
// says that the subscription worked.
func (e *ear) listen() (heard bool, err error) {
	run, err := e.n.process()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(e.n.ctx, dialTimeout)
	defer cancel()
	conn, err := e.n.borrow(ctx)
	if err != nil {
		return false, err
	}
	defer discard(conn)
	replies, err := e.n.ask(conn, "INFO server")
	if err != nil {
		return false, plain(err)
	}
	// A vote must come from the process that the node's commands go to. Otherwise a
	// server that two names lead to at different moments could vote twice.
	if identify(replies[0]).run != run {
		return false, errOther
	}
	if err := conn.Send("SUBSCRIBE", wakePrefix+e.client); err != nil {
		return false, plain(err)
	}
	if err := conn.Flush(); err != nil {
		return false, plain(err)
	}
	broken := make(chan struct{})
	// Goroutines: the reader. It ends when the connection does, and listen waits for it.
	go func() {
		defer close(broken)
		heard, err = e.read(conn, run)
	}()
	e.write(conn, broken)
	sever(conn)
	<-broken
	return heard, plain(err)
}

var errOther = errors.New("leads to another server than the connection for commands")

// write keeps the subscriptions to Redisson's channels as they are watched, and the
// connection busy, until it breaks or the node closes.
func (e *ear) write(conn redis.Conn, broken <-chan struct{}) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	on := make(map[string]bool)
	for {
		more, less := e.difference(on)
		if len(more) > 0 {
			_ = conn.Send("SUBSCRIBE", more...)
		}
		if len(less) > 0 {
			_ = conn.Send("UNSUBSCRIBE", less...)
		}
		_ = conn.Flush() // where it fails, the reader notices
		select {
		case <-e.wake:
		case <-beat.C:
			_ = conn.Send("PING")
		case <-broken:
			return
		case <-e.n.ctx.Done():
			return
		}
	}
}

// difference returns what to subscribe and to unsubscribe, so that on becomes what is
// watched.
func (e *ear) difference(on map[string]bool) (more, less []any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for channel := range e.watched {
		if !on[channel] {
			on[channel] = true
			more = append(more, channel)
		}
	}
	for channel := range on {
		if _, ok := e.watched[channel]; !ok {
			delete(on, channel)
			less = append(less, channel)
		}
	}
	return more, less
}

// read passes on what is published until the connection breaks.
func (e *ear) read(conn redis.Conn, run string) (heard bool, err error) {
	for {
		reply, err := redis.ReceiveWithTimeout(conn, heartbeat+e.n.cfg.Timeout)
		if err != nil {
			return heard, err
		}
		// It must still be the process that commands go to, and one that is a master: a
		// replica publishes what its master does.
		if now, err := e.n.process(); err != nil || now != run {
			return heard, errOther
		}
		kind, channel, payload, ok := message(reply)
		switch {
		case !ok:
		case channel != wakePrefix+e.client:
			// Freed also when the subscription begins: before it, the message was lost.
			if key, ok := e.keyOf(channel); ok {
				e.to.Freed(e.i, key)
			}
		case kind == "subscribe":
			heard = true
			e.to.Listening(e.i, true)
		default:
			e.pass(payload)
		}
	}
}

// pass passes on a message from pass.lua.
func (e *ear) pass(payload string) {
	p, ok := decodePass(payload)
	if !ok || !strings.HasPrefix(p.Owner, e.client+":") {
		e.n.cfg.Logger.Warn("redlock: unexpected message", "master", e.n.cfg.Name, "message", payload)
		return
	}
	if p.Number == 0 { // it may be free in a moment: it is left to Redisson's clients
		e.to.Freed(e.i, p.Key)
		return
	}
	e.n.mu.Lock()
	l := e.n.link
	vote := l != nil && !(l.young && l.guard() > 0) && !e.n.pace.unsteady()
	e.n.mu.Unlock()
	if !vote {
		return // see fitAt and pace
	}
	e.to.Passed(e.i, p)
}

// keyOf returns the watched lock that channel belongs to.
func (e *ear) keyOf(channel string) (string, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w, ok := e.watched[channel]
	return w.key, ok
}

// message takes apart what comes on a subscribed connection.
func message(reply any) (kind, channel, payload string, ok bool) {
	list, _ := reply.([]any)
	if len(list) != 3 {
		return "", "", "", false
	}
	first, ok1 := list[0].([]byte)
	second, ok2 := list[1].([]byte)
	third, _ := list[2].([]byte) // a number of channels otherwise
	kind = string(first)
	known := slices.Contains([]string{"message", "subscribe", "unsubscribe"}, kind)
	return kind, string(second), string(third), ok1 && ok2 && known
}

// decodePass reads the payload that pass.lua writes: owner, number, token and key.
func decodePass(payload string) (Pass, bool) {
	words := strings.SplitN(payload, " ", 4)
	if len(words) != 4 || words[0] == "" || words[3] == "" {
		return Pass{}, false
	}
	number, err1 := strconv.ParseUint(words[1], 10, 64)
	token, err2 := strconv.ParseInt(words[2], 10, 64)
	if err1 != nil || err2 != nil || token < 0 {
		return Pass{}, false
	}
	return Pass{Owner: words[0], Number: number, Token: token, Key: words[3]}, true
}

// process returns the run id of the server that commands go to, empty if it does not
// say, and why there is none.
func (n *Node) process() (run string, err error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.link == nil {
		return "", n.reason
	}
	return n.link.id.run, nil
}
