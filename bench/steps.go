package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// What the steps of a lock cost one master, which is alone: the CPU of its main thread, which runs
// the scripts, reads and writes. It does not depend on what the client costs, or how many CPUs there
// are.

// step is one step of many locks: calls of one script.
type step struct {
	name   string
	script *redis.Script
	calls  []call
	each   int    // locks in one call
	listen string // the channel on which a waiter listens, if one is told
}

// call is what a script is called with.
type call struct {
	args  []any
	check func(reply any) error // whether the master did what it should
}

// The steps that all contenders have.
const (
	stepAcquire = "acquire"
	stepRelease = "release"
)

// stepNames is how many locks go through the steps together.
const stepNames = 2400

func stepsTrials() []trial {
	var trials []trial
	add := func(setting, how string, n, depth int, among ...string) {
		trials = append(trials, trial{
			scenario: "masters",
			setting:  setting,
			title:    "one master alone, CPU of its main thread for each step of a lock; " + how,
			among:    among,
			measure: onMasters(1, func(ctx context.Context, e *env, c contender) ([]figure, error) {
				return measureSteps(ctx, e, c, n, depth)
			}),
		})
	}
	add("1", "48 calls in one write", 1, 48, "redlock", "limit")
	for _, n := range []int{4, 16, 48} {
		add(fmt.Sprintf("1x%d", n), fmt.Sprintf("48 in one write, %d in a call", n), n, 48/n, "redlock")
	}
	add("1alone", "one call at a time", 1, 1, "redlock", "limit")
	return trials
}

// measureSteps measures with n steps in a call, and depth calls in a write.
func measureSteps(ctx context.Context, e *env, c contender, n, depth int) (_ []figure, err error) {
	m := e.fleet.masters[0]
	p, err := dialPipeline(m.address)
	if err != nil {
		return nil, err
	}
	defer closing(p.Close, &err)
	w, err := dialWaiter(m.address)
	if err != nil {
		return nil, err
	}
	defer w.close()

	var order []string
	cpu, locks := make(map[string]time.Duration), make(map[string]int)
	end := time.Now().Add(2 * e.duration)
	for cycle := 0; cycle == 0 || time.Now().Before(end); cycle++ {
		for _, s := range c.steps(numbered(fmt.Sprintf("steps:%d:", cycle), stepNames), n) {
			if err := errors.Join(s.script.Load(p), w.listen(s.listen)); err != nil {
				return nil, err
			}
			before, err := m.mainThread()
			if err != nil {
				return nil, err
			}
			if err := p.run(ctx, s, depth); err != nil {
				return nil, fmt.Errorf("%s: %w", s.name, err)
			}
			after, err := m.mainThread()
			if err != nil {
				return nil, err
			}
			if locks[s.name] == 0 {
				order = append(order, s.name)
			}
			cpu[s.name] += after - before
			locks[s.name] += s.each * len(s.calls)
		}
	}
	var figures []figure
	for _, name := range order {
		figures = append(figures, figure{name, "µs", micros(cpu[name]) / float64(locks[name])})
	}
	return figures, nil
}

// mainThread returns the CPU time that the master's main thread has used.
func (m *master) mainThread() (time.Duration, error) {
	info, err := redis.String(m.control.Do("INFO", "cpu"))
	if err != nil {
		return 0, err
	}
	c := counters{calls: make(map[string]int64)}
	err = c.add(info)
	return c.mainThread, err
}

// pipeline is a connection that writes as much at a time as it is told to.
type pipeline struct {
	redis.Conn
	wire *gatherer
}

// gatherer keeps what is written until it is sent.
type gatherer struct {
	net.Conn
	kept bytes.Buffer
}

func (g *gatherer) Write(b []byte) (int, error) { return g.kept.Write(b) }

func (g *gatherer) send() error {
	_, err := g.kept.WriteTo(g.Conn)
	return err
}

func dialPipeline(address string) (*pipeline, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	wire := &gatherer{Conn: conn}
	return &pipeline{redis.NewConn(wire, 0, 0), wire}, nil
}

// Do flushes, as nobody else would.
func (p *pipeline) Do(command string, args ...any) (any, error) {
	if err := errors.Join(p.Send(command, args...), p.Flush(), p.wire.send()); err != nil {
		return nil, err
	}
	return p.Receive()
}

// run makes the calls of s, depth at a time.
func (p *pipeline) run(ctx context.Context, s step, depth int) error {
	for calls := range slices.Chunk(s.calls, depth) {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		for _, c := range calls {
			if err := s.script.SendHash(p, c.args...); err != nil {
				return err
			}
		}
		if err := errors.Join(p.Flush(), p.wire.send()); err != nil {
			return err
		}
		for _, c := range calls {
			reply, err := p.Receive()
			if err == nil {
				err = c.check(reply)
			}
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// waiter is who is told of hand-offs, and does not care.
type waiter struct {
	conn     redis.Conn
	channels []string
	reading  sync.WaitGroup
}

func dialWaiter(address string) (*waiter, error) {
	conn, err := redis.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	return &waiter{conn: conn}, nil
}

// listen subscribes to channel and drops what comes.
func (w *waiter) listen(channel string) error {
	if channel == "" || slices.Contains(w.channels, channel) {
		return nil
	}
	w.channels = append(w.channels, channel)
	_, err := w.conn.Do("SUBSCRIBE", channel)
	if err != nil || len(w.channels) > 1 {
		return err
	}
	// Goroutine: ends when close closes the connection; close waits for it.
	w.reading.Go(func() {
		for err := error(nil); err == nil; {
			_, err = w.conn.Receive()
		}
	})
	return nil
}

func (w *waiter) close() {
	_ = w.conn.Close()
	w.reading.Wait()
}
