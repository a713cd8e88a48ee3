package node

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/awake"
	"example.com/redlock/internal/quote"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
)

// Subscriber receives what a master publishes for this client. Its methods are called from one
// goroutine for each master, and must not block.
//
// Messages may be lost, late or doubled, so each is a hint until it is checked.
type Subscriber interface {
	// HandedOff is called when master i handed a lock to an owner of this client.
	HandedOff(i int, h script.HandOff)
	// Freed is called when master i may have freed the lock at key without handing it off, so
	// that it is time to ask for it.
	Freed(i int, key string)
	// Wanted is called when master i refused the lock at key to somebody, since an owner of this client has it that may be
	// kept without being used, see [script.Keeps].
	Wanted(i int, key, owner string)
	// Subscribed is called when the subscription at master i begins to work, and when it
	// breaks. What was published in between is lost.
	Subscribed(i int, on bool)
}

// subscription is the connection on which a master publishes to this client.
type subscription struct {
	n      *Node
	to     Subscriber
	client string        // uuid
	wake   chan struct{} // tells the writer that watched has changed

	heard      atomic.Uint64 // replies and messages
	unexpected bool          // a message was, and is in the log; of the reader

	mu      sync.Mutex
	watched map[string]watched // by channel
}

// watched is a lock that one of Redisson's clients may free and callers here wait for, or a semaphore.
type watched struct {
	key     string
	callers int
}

// Subscribe calls the methods of to for what the master publishes for client, a uuid, until Close. It uses a connection of its own. It must be called once at most.
func (n *Node) Subscribe(client string, to Subscriber) {
	s := &subscription{
		n: n, to: to, client: client,
		wake:    make(chan struct{}, 1),
		watched: make(map[string]watched),
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.closing {
		return
	}
	n.subscription = s
	// Goroutines: one that connects and writes, and one that reads while there is a connection.
	// They end when n.ctx does, and Close waits for them.
	n.running.Go(s.keepSubscribed)
}

// Watch makes the node call Subscriber.Freed when one of Redisson's clients frees the lock at key or, if key is
// [script.Slots] of a semaphore, when anybody frees a slot of it. That ends when Unwatch has been called as often. Without
// Subscribe it does nothing.
func (n *Node) Watch(key string) { n.addWatch(key, 1) }

// Unwatch undoes one Watch.
func (n *Node) Unwatch(key string) { n.addWatch(key, -1) }

func (n *Node) addWatch(key string, callers int) {
	n.mu.Lock()
	s := n.subscription
	n.mu.Unlock()
	if s == nil {
		return
	}
	channel := script.FreedChannel(n.cfg.Prefix.Key(key))
	s.mu.Lock()
	defer s.mu.Unlock()
	w := watched{key: key, callers: s.watched[channel].callers + callers}
	if w.callers > 0 {
		s.watched[channel] = w
	} else {
		delete(s.watched, channel)
	}
	wake(s.wake)
}

// keepSubscribed holds a subscription for as long as the node is open.
func (s *subscription) keepSubscribed() {
	tries, logged := server.MoreAttempts(), false
	for s.n.ctx.Err() == nil {
		l, err := s.n.working()
		if err != nil {
			s.n.pause(tries.Failed(nil))
			continue
		}
		since, err := s.serve(l, tries.Patience)
		if now, _ := s.n.working(); now != l {
			err = nil
		}
		if s.n.ctx.Err() != nil {
			return
		}
		if !since.IsZero() {
			s.to.Subscribed(s.n.cfg.Index, false)
			// One that breaks at once each time counts as one that cannot be made.
			if err == nil || time.Since(since) > heartbeat {
				tries, logged = server.MoreAttempts(), false
			}
		}
		if _, down := s.n.working(); down == nil && err != nil && !logged {
			logged = true
			s.n.cfg.Logger.Warn("redlock: no subscription: callers that wait ask the master from time to time",
				"master", s.n.cfg.Name, "error", err)
		}
		s.n.pause(tries.Failed(err))
	}
}

var errOther = errors.New("leads to another server than the connection for commands")

// serve subscribes, and delivers what is published until the connection breaks or l does, that for commands. since is when
// the master accepted the subscription, zero if it did not.
func (s *subscription) serve(l *link, patience time.Duration) (since time.Time, err error) {
	conn, err := s.n.server.Connect(l.ctx, patience)
	if err != nil {
		return since, err
	}
	defer conn.Close()
	defer context.AfterFunc(l.ctx, conn.Sever)() // also while it is written to
	replies, err := conn.Ask([]any{"INFO", "server"}, []any{"SUBSCRIBE", script.HandOffChannel(s.client)})
	if err != nil {
		return since, err
	}
	// A vote must come from the process that commands go to. Otherwise a server could vote
	// twice, if two names lead to it at different moments. One that does not say which it is may be any.
	switch id := server.Identify(replies[0]); {
	case id.Run == "":
		return since, id.Err
	case id.Run != l.id.Run:
		return since, errOther
	}
	if refusal, refused := replies[1].(redis.Error); refused {
		return since, refusal
	}
	since = time.Now()
	s.to.Subscribed(s.n.cfg.Index, true)
	broken := make(chan struct{})
	// Goroutines: the reader. It ends when the connection does, and write waits for it.
	go func() {
		defer close(broken)
		err = s.read(conn, l)
	}()
	s.write(conn, broken)
	return since, err
}

// write subscribes to the channels of what is watched, and keeps the connection busy, until it is broken. It ignores
// errors, which the reader notices.
//
// A master that says nothing at all for long after a PING is gone. The reader has no time limit of its own: it would
// count the time in which this process was stopped.
func (s *subscription) write(conn *server.Conn, broken <-chan struct{}) {
	beat := time.NewTimer(s.n.drawSilence())
	defer beat.Stop()
	subscribed := make(map[string]bool)
	for {
		added, removed := s.update(subscribed)
		if len(added) > 0 {
			_ = conn.Send("SUBSCRIBE", added...)
		}
		if len(removed) > 0 {
			_ = conn.Send("UNSUBSCRIBE", removed...)
		}
		_ = conn.Flush()
		select {
		case <-s.wake:
		case <-beat.C:
			before := s.heard.Load()
			_ = conn.Send("PING")
			awake.After(hopeless*s.n.cfg.Timeout, func() {
				if s.heard.Load() == before {
					conn.Sever() // which does nothing once it is closed
				}
			})
			beat.Reset(s.n.drawSilence())
		case <-broken:
			return
		}
	}
}

// update makes subscribed what is watched now, and returns the channels it added and removed.
func (s *subscription) update(subscribed map[string]bool) (added, removed []any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for channel := range s.watched {
		if !subscribed[channel] {
			subscribed[channel] = true
			added = append(added, channel)
		}
	}
	for channel := range subscribed {
		if _, ok := s.watched[channel]; !ok {
			delete(subscribed, channel)
			removed = append(removed, channel)
		}
	}
	return added, removed
}

// read delivers what is published until the connection breaks.
func (s *subscription) read(conn *server.Conn, l *link) error {
	for {
		channel, payload, err := conn.Message()
		if err != nil {
			return err
		}
		s.heard.Add(1)
		switch channel {
		case "": // a PONG
		case script.HandOffChannel(s.client):
			s.deliver(l, payload)
		default:
			// Also when the subscription begins, since a message may have been published before.
			s.mu.Lock()
			w, watched := s.watched[channel]
			s.mu.Unlock()
			if watched {
				s.to.Freed(s.n.cfg.Index, script.FreedKey(w.key, payload))
			}
		}
	}
}

// deliver delivers a message of queue.lua. A hand-off is a vote, so it counts only if it is from the process that commands go
// to, over l, and that process is neither guarded nor has an unsteady clock. A replica publishes what its master does; if the
// process became one, l is given up.
func (s *subscription) deliver(l *link, payload string) {
	h, ok := s.n.cfg.Prefix.DecodeHandOff(payload)
	switch {
	case !ok || !strings.HasPrefix(h.Owner, s.client+":"):
		if !s.unexpected { // whoever sends one may send a million
			s.unexpected = true
			s.n.cfg.Logger.Warn("redlock: unexpected message; further ones are ignored in silence", "master", s.n.cfg.Name, "message", quote.Value(payload))
		}
		return
	case h.Wanted:
		s.to.Wanted(s.n.cfg.Index, h.Key, h.Owner)
		return
	case h.Round == 0: // the lock was left to Redisson's clients, and may be free in a moment
		s.to.Freed(s.n.cfg.Index, h.Key)
		return
	}
	s.n.mu.Lock()
	counts := s.n.link == l && l.err() == nil && s.n.votelessLocked(l) == nil
	s.n.mu.Unlock()
	if counts {
		s.to.HandedOff(s.n.cfg.Index, h)
	}
}
