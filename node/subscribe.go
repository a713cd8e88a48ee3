package node

import (
	"sync"
	"sync/atomic"

	"example.com/redlock/node/script"
)

// Subscriber is told what a master publishes for this client. Its methods are called from one
// goroutine for each master, and must not block.
//
// Messages may be lost, late or doubled, so each is a hint until it is checked.
type Subscriber interface {
	// HandedOff is called when master i handed a lock to an owner of this client.
	HandedOff(i int, h script.HandOff)
	// Freed is called when master i may have freed the lock at key without handing it off, so
	// that it is time to ask for it.
	Freed(i int, key string)
	// Wanted is called when master i refused the lock at key to somebody, since this client's owner has it, which
	// says that its client keeps locks.
	Wanted(i int, key, owner string)
	// Subscribed is called when the subscription at master i begins to work, and when it
	// breaks. What was published in between is lost.
	Subscribed(i int, on bool)
}

// subscription is the connection on which a master publishes to this client.
type subscription struct {
	n       *Node
	to      Subscriber
	i       int
	client  string        // uuid
	wake    chan struct{} // tells the writer that watched has changed
	stopped chan struct{} // closed when keepSubscribed has returned

	heard      atomic.Bool // anything since the last PING
	unexpected bool        // a message was, and is in the log; of the reader

	mu      sync.Mutex
	watched map[string]watched // by channel
}

// watched is a lock that one of Redisson's clients may free and callers here wait for.
type watched struct {
	key     string
	callers int
}

// Subscribe calls the methods of to, with i, for what the master publishes for client, a uuid,
// until Close. It uses a connection of its own. It must be called once at most.
func (n *Node) Subscribe(client string, to Subscriber, i int) {
	s := &subscription{
		n: n, to: to, i: i, client: client,
		wake:    make(chan struct{}, 1),
		stopped: make(chan struct{}),
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
	go s.keepSubscribed()
}

// Watch has Subscriber.Freed called when one of Redisson's clients frees the lock at key, until
// Unwatch has been called as often. Without Subscribe it does nothing.
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
	channel := script.FreedChannel(key)
	s.mu.Lock()
	defer s.mu.Unlock()
	w := watched{key: key, callers: s.watched[channel].callers + callers}
	if w.callers > 0 {
		s.watched[channel] = w
	} else {
		delete(s.watched, channel)
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
}
