package redlock_test

import (
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlocktest"
)

// noise loses messages that masters publish, and delivers others late or twice.
type noise struct {
	noising sync.Mutex
	dice    dice
	at      map[*redlocktest.Master]bool
}

// begin begins noise at m, and returns what ends it.
func (n *noise) begin(m *redlocktest.Master) (end func()) {
	set := func(on bool) {
		n.noising.Lock()
		defer n.noising.Unlock()
		if n.at == nil {
			n.at = make(map[*redlocktest.Master]bool)
		}
		n.at[m] = on
	}
	set(true)
	return func() { set(false) }
}

// noisy puts a connection to m where the noise is.
func (n *noise) noisy(m *redlocktest.Master, c redis.Conn) redis.Conn {
	n.noising.Lock()
	defer n.noising.Unlock()
	return &noisyConn{bothConn: c.(bothConn), noise: n, dice: n.dice.fork(), master: m}
}

// bothConn is what a client needs of a connection.
type bothConn interface {
	redis.ConnWithContext
	redis.ConnWithTimeout
}

type noisyConn struct {
	bothConn
	*noise
	dice
	master *redlocktest.Master
	again  any // what is to come a second time
}

func (c *noisyConn) ReceiveWithTimeout(timeout time.Duration) (any, error) {
	if again := c.again; again != nil {
		c.again = nil
		return again, nil
	}
	for {
		reply, err := c.bothConn.ReceiveWithTimeout(timeout)
		c.noising.Lock()
		noisy := c.noise.at[c.master]
		c.noising.Unlock()
		kind := ""
		if published, _ := reply.([]any); noisy && len(published) == 3 { // else it is the answer to a command
			first, _ := published[0].([]byte)
			kind = string(first)
		}
		switch {
		case kind == "subscribe", kind == "message" && c.oneIn(3):
			time.Sleep(c.upTo(300 * time.Millisecond))
		case kind == "message" && c.oneIn(2):
			continue
		case kind == "message" && c.oneIn(2):
			c.again = reply
		}
		return reply, err
	}
}
