package main

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"
)

// limit is what a lock on five masters cannot do without, and nothing else: two script calls to each
// master, pipelined, decided at the third answer. It has no validity, roll-back, waiting or repair.
var limit = contender{name: "limit", masters: mastersN, open: openLimit}

var (
	limitAcquire = redis.NewScript(1, `return redis.call('set', KEYS[1], ARGV[1], 'nx', 'px', ARGV[2]) and 1 or 0`)
	limitRelease = redis.NewScript(1, `return redis.call('get', KEYS[1]) == ARGV[1] and redis.call('del', KEYS[1]) or 0`)
)

type limitClient struct {
	lanes []*lane
	lease int64 // ms
	seq   atomic.Uint64
}

// lane is the connection to one master.
type lane struct {
	conn    redis.Conn
	queue   chan *vote // to write
	flight  chan *vote // written, not answered
	drained chan struct{}
}

// vote is one command to all masters, and the count of their answers.
type vote struct {
	script *redis.Script
	args   []any
	need   int32
	yes    atomic.Int32
	no     atomic.Int32
	done   chan bool
}

var errRefused = errors.New("no majority")

func openLimit(addresses []string, lease time.Duration) (client, error) {
	c := &limitClient{lease: lease.Milliseconds()}
	for _, address := range addresses {
		conn, err := redis.Dial("tcp", address)
		if err == nil {
			err = errors.Join(limitAcquire.Load(conn), limitRelease.Load(conn))
		}
		if err != nil {
			return nil, errors.Join(err, c.Close())
		}
		// Room for everything that a frozen master may leave unanswered in a trial.
		l := &lane{conn: conn, queue: make(chan *vote, 1<<17), flight: make(chan *vote, 1<<17), drained: make(chan struct{})}
		c.lanes = append(c.lanes, l)
		// Goroutines: a writer and a reader per master. Close ends the writer, which ends the
		// reader, and waits for the reader.
		go l.write()
		go l.read()
	}
	return c, nil
}

// write sends what is queued and flushes when there is nothing more.
func (l *lane) write() {
	defer close(l.flight)
	for v := range l.queue {
		l.flight <- v
		_ = v.script.SendHash(l.conn, v.args...) // read gets the error too
		if len(l.queue) == 0 {
			_ = l.conn.Flush()
		}
	}
}

func (l *lane) read() {
	defer close(l.drained)
	for v := range l.flight {
		reply, err := redis.Int(l.conn.Receive())
		v.count(err == nil && reply == 1)
	}
}

func (v *vote) count(yes bool) {
	if yes {
		if v.yes.Add(1) == v.need {
			v.done <- true
		}
	} else if v.no.Add(1) == v.need {
		v.done <- false
	}
}

// decide sends a script to all masters and waits for the majority's answer.
func (c *limitClient) decide(ctx context.Context, script *redis.Script, args ...any) error {
	v := &vote{script: script, args: args, need: int32(len(c.lanes)/2 + 1), done: make(chan bool, 1)}
	for _, l := range c.lanes {
		l.queue <- v
	}
	select {
	case yes := <-v.done:
		if !yes {
			return errRefused
		}
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *limitClient) Lock(ctx context.Context, name string) (hold, error) {
	owner := strconv.FormatUint(c.seq.Add(1), 10)
	if err := c.decide(ctx, limitAcquire, name, owner, c.lease); err != nil {
		return nil, err
	}
	return &limitHold{c, name, owner}, nil
}

func (c *limitClient) Close() error {
	var err error
	for _, l := range c.lanes {
		close(l.queue)
		<-l.drained
		err = errors.Join(err, l.conn.Close())
	}
	return err
}

type limitHold struct {
	c           *limitClient
	name, owner string
}

func (h *limitHold) Unlock(ctx context.Context) error {
	return h.c.decide(ctx, limitRelease, h.name, h.owner)
}
