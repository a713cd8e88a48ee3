package main

import (
	"context"
	"net/http"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	otelredlock "example.com/redlock/otel"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
	"example.com/redlock/redlocktrace"
)

// scene is a program with two clients of five masters, which is scraped every 15 s.
type scene struct {
	t       *testing.T
	ctx     context.Context // ends with the scene
	tape    *tape
	handler http.Handler
	trace   *redlocktrace.Trace
	fleet   *redlocktest.Fleet
	a, b    *redlock.Client
	holds   []*redlock.Hold // or they would be garbage, and renewed no more
}

// record runs f on time of its own, and returns what Prometheus would have of it.
func record(t *testing.T, cfg redlock.Config, f func(*scene)) *tape {
	t.Helper()
	tp := new(tape)
	synctest.Test(t, func(t *testing.T) {
		provider, handler, err := telemetry()
		check.OK(t, err)
		ctx, cancel := context.WithCancel(t.Context())
		s := &scene{t: t, ctx: ctx, tape: tp, handler: handler, fleet: redlocktest.Start(t, 5)}
		for i, m := range s.fleet.Masters() {
			m.Delay(time.Duration(i+1) * 300 * time.Microsecond)
		}
		s.trace = otelredlock.New(otelredlock.Config{MeterProvider: provider, Label: prefix})
		for _, c := range []**redlock.Client{&s.a, &s.b} {
			cfg.Pools = s.fleet.Pools()
			*c = s.open(cfg)
		}
		t.Cleanup(cancel) // before the clients are closed
		s.wait(time.Minute)
		f(s)
		runtime.KeepAlive(s)
	})
	return tp
}

// open makes a client, which is closed with the scene.
func (s *scene) open(cfg redlock.Config) *redlock.Client {
	s.t.Helper()
	cfg.Trace = s.trace
	client, err := redlock.New(cfg)
	check.OK(s.t, err)
	s.t.Cleanup(func() { client.Close() })
	return client
}

// wait lets time pass, and scrapes.
func (s *scene) wait(d time.Duration) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		synctest.Wait()
		s.tape.scrape(s.t, s.handler)
		time.Sleep(every)
	}
}

// work has both clients want the same few names again and again, as a service does.
func (s *scene) work() {
	for _, c := range []*redlock.Client{s.a, s.b} {
		go func() {
			for n := 0; s.ctx.Err() == nil; n++ {
				budget, cancel := context.WithTimeout(s.ctx, 10*time.Second)
				_ = c.Do(budget, "orders:"+string(rune('a'+n%3)), func(ctx context.Context) error {
					s.sleep(time.Second)
					return nil
				})
				cancel()
				s.sleep(19 * time.Second)
			}
		}()
	}
}

func (s *scene) sleep(d time.Duration) {
	select {
	case <-s.ctx.Done():
	case <-time.After(d):
	}
}

// lock locks a name that is free.
func (s *scene) lock(c *redlock.Client, name string) *redlock.Hold {
	s.t.Helper()
	hold, err := c.Lock(s.ctx, name)
	check.OK(s.t, err, "Lock(%q)", name)
	s.holds = append(s.holds, hold)
	return hold
}

// harm does something to the first n masters.
func (s *scene) harm(n int, f func(*redlocktest.Master)) {
	for _, m := range s.fleet.Masters()[:n] {
		f(m)
	}
}

// story is what the dashboard is about: a service that works and waits, loses a
// hold when a majority dies, goes on when it is back, and finds a clock and a role that are wrong.
func story(s *scene) {
	s.work()
	leader := s.lock(s.a, "leader:cron")
	_, taken := s.b.TryLock(s.ctx, "leader:cron")
	reader, errRead := s.a.Lock(s.ctx, "index:1", redlock.Shared())
	permit, errPermit := s.b.Lock(s.ctx, "gpu:1", redlock.Permits(2))
	if taken == nil || errRead != nil || errPermit != nil {
		s.t.Fatalf("TryLock: %v, RLock: %v, Acquire: %v", taken, errRead, errPermit)
	}
	s.wait(3 * time.Minute)
	for _, hold := range []*redlock.Hold{reader, permit} {
		check.OK(s.t, hold.Unlock(s.ctx))
	}
	s.harm(1, (*redlocktest.Master).Kill)
	s.wait(2 * time.Minute)
	s.harm(3, (*redlocktest.Master).Kill)
	s.wait(90 * time.Second)
	if err := leader.Unlock(s.ctx); err == nil {
		s.t.Fatal("the leader's hold was not lost")
	}
	s.harm(3, (*redlocktest.Master).RestartWithData)
	s.wait(3 * time.Minute)
	s.fleet.Master(4).Skew(time.Minute)
	s.fleet.Master(3).SetRole("slave")
	s.wait(2 * time.Minute)
}
