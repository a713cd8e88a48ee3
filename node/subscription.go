package node

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/quote"
	"example.com/redlock/node/script"
)

// keepSubscribed holds a subscription for as long as the node is open.
func (s *subscription) keepSubscribed() {
	defer close(s.stopped)
	tries, logged := moreAttempts(), ""
	for s.n.ctx.Err() == nil {
		l, err := s.n.working()
		if err != nil || s.n.Down() {
			s.pause(tries.failed(nil))
			continue
		}
		worked, err := s.serve(l, tries.patience)
		if s.n.ctx.Err() != nil {
			return
		}
		if worked {
			tries, logged = moreAttempts(), ""
			s.to.Subscribed(s.i, false)
		}
		if _, down := s.n.working(); down == nil && err != nil && err.Error() != logged {
			logged = err.Error()
			s.n.cfg.Logger.Warn("redlock: no subscription: callers that wait ask the master from time to time",
				"master", s.n.cfg.Name, "error", err)
		}
		s.pause(tries.failed(err))
	}
}

// pause waits for d, or until the node closes.
func (s *subscription) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-s.n.ctx.Done():
	}
}

var errOther = errors.New("leads to another server than the connection for commands")

// serve subscribes, and delivers what is published until the connection breaks or l does, that for commands,
// which is a nil error. worked says whether the master accepted the subscription.
func (s *subscription) serve(l *link, patience time.Duration) (worked bool, err error) {
	conn, err := s.n.borrow(s.n.ctx, patience)
	if err != nil {
		return false, err
	}
	w := &wire{conn: conn, patience: patience / 2}
	defer w.close()
	defer context.AfterFunc(s.n.ctx, w.sever)() // also while it is written to
	replies, err := s.n.roundTrips(w, "INFO server", "SUBSCRIBE "+script.HandOffChannel(s.client))
	if err != nil {
		return false, normalize(err)
	}
	// A vote must come from the process that commands go to. Otherwise a server could vote
	// twice, if two names lead to it at different moments.
	if identify(replies[0]).run != l.id.run {
		return false, errOther
	}
	if refusal, refused := replies[1].(redis.Error); refused {
		return false, refusal
	}
	s.to.Subscribed(s.i, true)
	broken := make(chan struct{})
	// Goroutines: the reader. It ends when the connection does, and serve waits for it.
	go func() {
		defer close(broken)
		err = s.read(conn, l)
	}()
	s.write(w, l, broken)
	w.sever()
	<-broken
	if now, _ := s.n.working(); now != l {
		return true, nil
	}
	return true, normalize(err)
}

// write subscribes to the channels of what is watched, and keeps the connection busy, until it
// breaks, the one for commands does, or the node closes. It ignores errors, which the reader notices.
//
// A master that says nothing at all for long after a PING is gone. The reader has no time limit of its own: it would
// count the time in which this process was stopped.
func (s *subscription) write(w *wire, l *link, broken <-chan struct{}) {
	beat := time.NewTimer(s.n.drawSilence())
	defer beat.Stop()
	subscribed := make(map[string]bool)
	for {
		added, removed := s.update(subscribed)
		if len(added) > 0 {
			_ = w.conn.Send("SUBSCRIBE", added...)
		}
		if len(removed) > 0 {
			_ = w.conn.Send("UNSUBSCRIBE", removed...)
		}
		_ = w.conn.Flush()
		select {
		case <-s.wake:
		case <-beat.C:
			_ = w.conn.Send("PING")
			s.heard.Store(false)
			afterAwake(hopeless*s.n.cfg.Timeout, func() {
				if !s.heard.Load() {
					w.sever() // which does nothing once it is closed
				}
			})
			beat.Reset(s.n.drawSilence())
		case <-broken:
			return
		case <-l.broken:
			return
		case <-s.n.ctx.Done():
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
func (s *subscription) read(conn redis.Conn, l *link) error {
	for {
		reply, err := receive(conn, 0)
		if err != nil {
			return err
		}
		s.heard.Store(true)
		switch channel, payload, ok := message(reply); {
		case !ok:
		case channel == script.HandOffChannel(s.client):
			s.deliver(l, payload)
		default:
			// Also when the subscription begins, since a message may have been published before.
			if key, ok := s.keyOf(channel); ok {
				s.to.Freed(s.i, key)
			}
		}
	}
}

// deliver delivers a message of queue.lua. A hand-off is a vote, so it counts only from the process
// that commands go to by l, and while that is neither guarded nor has an unsteady clock. If it became
// a replica, which publishes what its master does, l is given up.
func (s *subscription) deliver(l *link, payload string) {
	if owner, key, ok := script.DecodeWanted(payload); ok && strings.HasPrefix(owner, s.client+":") {
		s.to.Wanted(s.i, key, owner)
		return
	}
	h, ok := script.DecodeHandOff(payload)
	if !ok || !strings.HasPrefix(h.Owner, s.client+":") {
		if !s.unexpected { // whoever sends one may send a million
			s.unexpected = true
			s.n.cfg.Logger.Warn("redlock: unexpected message; further ones are ignored in silence", "master", s.n.cfg.Name, "message", quote.Text(payload[:min(len(payload), 100)]))
		}
		return
	}
	if h.Round == 0 { // the lock was left to Redisson's clients, and may be free in a moment
		s.to.Freed(s.i, h.Key)
		return
	}
	s.n.mu.Lock()
	counts := s.n.link == l && l.err == nil && !(l.mayBeGuarded && l.guardLeft() > 0) && !s.n.clockCheck.unsteady()
	s.n.mu.Unlock()
	if counts {
		s.to.HandedOff(s.i, h)
	}
}

// keyOf returns the watched lock whose channel it is.
func (s *subscription) keyOf(channel string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w, ok := s.watched[channel]
	return w.key, ok
}

// message takes a message on a subscribed connection apart.
func message(reply any) (channel, payload string, ok bool) {
	list, _ := reply.([]any)
	if len(list) != 3 {
		return "", "", false
	}
	first, ok1 := list[0].([]byte)
	second, ok2 := list[1].([]byte)
	third, _ := list[2].([]byte) // not of (un)subscribe, which has a number of channels
	known := slices.Contains([]string{"message", "subscribe", "unsubscribe"}, string(first))
	return string(second), string(third), ok1 && ok2 && known
}

// working returns the connection for commands, or an error if there is none or it is given up.
func (n *Node) working() (*link, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	switch l := n.link; {
	case l == nil:
		return nil, n.reason
	case l.err != nil:
		return nil, l.err
	default:
		return l, nil
	}
}
