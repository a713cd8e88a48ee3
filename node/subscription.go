package node

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
)

// Subscriber is told what a master publishes to this client. Its methods are called from one
// goroutine for each master, and must not block.
//
// What it hears is no more than a hint until it is checked: messages may be lost, come
// late, and come twice.
type Subscriber interface {
	// HandedOff is called when master i handed a lock to an owner of this client.
	HandedOff(i int, h script.HandOff)
	// Freed is called when master i may have freed the lock at key without handing it over:
	// it is worth while to ask.
	Freed(i int, key string)
	// Subscribed is called when the subscription at master i begins to work, and when it
	// breaks. What was published in between is lost.
	Subscribed(i int, on bool)
}

// subscription is the connection on which a master publishes to this client.
type subscription struct {
	n      *Node
	to     Subscriber
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

// Subscribe begins to tell to, as number i, what the master publishes to client, on a
// connection of its own. It is called once, and goes on until Close.
func (n *Node) Subscribe(client string, to Subscriber, i int) {
	s := &subscription{
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
	n.sub = s
	// Goroutines: one that connects and writes, and while there is a connection one that
	// reads. They end with n.ctx, and Close waits for them.
	go s.keep()
}

// Watch has Subscriber.Freed called when one of Redisson's clients frees the lock at key, until
// Unwatch is called as often. It needs Subscribe.
func (n *Node) Watch(key string) { n.watch(key, 1) }

// Unwatch is the end of Watch.
func (n *Node) Unwatch(key string) { n.watch(key, -1) }

func (n *Node) watch(key string, more int) {
	n.mu.Lock()
	s := n.sub
	n.mu.Unlock()
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	w := watched{key: key, many: s.watched[script.FreedChannel(key)].many + more}
	if w.many > 0 {
		s.watched[script.FreedChannel(key)] = w
	} else {
		delete(s.watched, script.FreedChannel(key))
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// keep holds a subscription for as long as the node is open.
func (s *subscription) keep() {
	defer close(s.gone)
	retry, said := firstRetry, ""
	for s.n.ctx.Err() == nil {
		heard, err := s.listen()
		if s.n.ctx.Err() != nil {
			return
		}
		if heard {
			retry, said = firstRetry, ""
			s.to.Subscribed(s.i, false)
		}
		if _, down := s.n.process(); down == nil && err.Error() != said {
			said = err.Error()
			s.n.cfg.Logger.Warn("redlock: no subscription: callers that wait ask the master from time to time",
				"master", s.n.cfg.Name, "error", err)
		}
		select {
		case <-time.After(retry/2 + rand.N(retry)):
		case <-s.n.ctx.Done():
		}
		retry = min(2*retry, lastRetry)
	}
}

// listen subscribes and passes on what is published until the connection breaks. heard
// says that the subscription worked.
func (s *subscription) listen() (heard bool, err error) {
	run, err := s.n.process()
	if err != nil {
		return false, err
	}
	ctx, cancel := context.WithTimeout(s.n.ctx, dialTimeout)
	defer cancel()
	conn, err := s.n.borrow(ctx)
	if err != nil {
		return false, err
	}
	defer discard(conn)
	replies, err := s.n.ask(conn, "INFO server")
	if err != nil {
		return false, plain(err)
	}
	// A vote must come from the process that the node's commands go to. Otherwise a
	// server that two names lead to at different moments could vote twice.
	if identify(replies[0]).run != run {
		return false, errOther
	}
	if err := conn.Send("SUBSCRIBE", script.HandOffChannel(s.client)); err != nil {
		return false, plain(err)
	}
	if err := conn.Flush(); err != nil {
		return false, plain(err)
	}
	broken := make(chan struct{})
	// Goroutines: the reader. It ends when the connection does, and listen waits for it.
	go func() {
		defer close(broken)
		heard, err = s.read(conn, run)
	}()
	s.write(conn, broken)
	sever(conn)
	<-broken
	return heard, plain(err)
}

var errOther = errors.New("leads to another server than the connection for commands")

// write keeps the subscriptions to Redisson's channels as they are watched, and the
// connection busy, until it breaks or the node closes.
func (s *subscription) write(conn redis.Conn, broken <-chan struct{}) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	on := make(map[string]bool)
	for {
		more, less := s.difference(on)
		if len(more) > 0 {
			_ = conn.Send("SUBSCRIBE", more...)
		}
		if len(less) > 0 {
			_ = conn.Send("UNSUBSCRIBE", less...)
		}
		_ = conn.Flush() // where it fails, the reader notices
		select {
		case <-s.wake:
		case <-beat.C:
			_ = conn.Send("PING")
		case <-broken:
			return
		case <-s.n.ctx.Done():
			return
		}
	}
}

// difference returns what to subscribe and to unsubscribe, so that on becomes what is
// watched.
func (s *subscription) difference(on map[string]bool) (more, less []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for channel := range s.watched {
		if !on[channel] {
			on[channel] = true
			more = append(more, channel)
		}
	}
	for channel := range on {
		if _, ok := s.watched[channel]; !ok {
			delete(on, channel)
			less = append(less, channel)
		}
	}
	return more, less
}

// read passes on what is published until the connection breaks.
func (s *subscription) read(conn redis.Conn, run string) (heard bool, err error) {
	for {
		reply, err := redis.ReceiveWithTimeout(conn, heartbeat+s.n.cfg.Timeout)
		if err != nil {
			return heard, err
		}
		// It must still be the process that commands go to, and one that is a master: a
		// replica publishes what its master does.
		if now, err := s.n.process(); err != nil || now != run {
			return heard, errOther
		}
		kind, channel, payload, ok := message(reply)
		switch {
		case !ok:
		case channel != script.HandOffChannel(s.client):
			// Freed also when the subscription begins: before it, the message was lost.
			if key, ok := s.keyOf(channel); ok {
				s.to.Freed(s.i, key)
			}
		case kind == "subscribe":
			heard = true
			s.to.Subscribed(s.i, true)
		default:
			s.pass(payload)
		}
	}
}

// pass passes on a message from queue.lua.
func (s *subscription) pass(payload string) {
	p, ok := script.DecodeHandOff(payload)
	if !ok || !strings.HasPrefix(p.Owner, s.client+":") {
		s.n.cfg.Logger.Warn("redlock: unexpected message", "master", s.n.cfg.Name, "message", payload)
		return
	}
	if p.Round == 0 { // it may be free in a moment: it is left to Redisson's clients
		s.to.Freed(s.i, p.Key)
		return
	}
	s.n.mu.Lock()
	l := s.n.link
	vote := l != nil && !(l.young && l.guard() > 0) && !s.n.pace.unsteady()
	s.n.mu.Unlock()
	if !vote {
		return // see fitAt and pace
	}
	s.to.HandedOff(s.i, p)
}

// keyOf returns the watched lock that channel belongs to.
func (s *subscription) keyOf(channel string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.watched[channel]
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
