package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Clients compete for one name, while waiters in processes of their own are killed or frozen.

// stallsTrials shows what a dead or frozen waiter costs the others. The victim is certain to be
// waiting, since another client holds the lock at that moment.
func stallsTrials() []trial {
	var trials []trial
	for _, how := range []struct {
		setting, title string
		signal         syscall.Signal
	}{
		{"killed", "killed (SIGKILL)", syscall.SIGKILL},
		{"frozen", "frozen (SIGSTOP)", syscall.SIGSTOP},
	} {
		trials = append(trials, trial{
			scenario: "stalls",
			setting:  how.setting,
			title: fmt.Sprintf("%d clients on one name, held for 1 ms each time; every %v a waiter in another process is %s",
				stallClients, stallEvery, how.title),
			among: []string{"redlock", "redsync-ff", "rueidislock/1"},
			measure: func(ctx context.Context, e *env, c contender) ([]figure, error) {
				return measureStalls(ctx, e, c, how.signal)
			},
		})
	}
	return trials
}

const (
	stallClients = 4
	stallEvery   = 200 * time.Millisecond
	stallName    = "stalls"
	stallWaiters = 4 // alive at any moment
)

func measureStalls(ctx context.Context, e *env, c contender, signal syscall.Signal) (_ []figure, err error) {
	clients, closeAll, err := e.openMany(ctx, c, stallClients)
	if err != nil {
		return nil, err
	}
	defer closing(closeAll, &err)
	waiters := &processes{contender: c.name, addresses: e.fleet.addresses(c.masters)}
	defer waiters.close()
	for range stallWaiters {
		if err := waiters.start(); err != nil {
			return nil, err
		}
	}

	// Enough victims that one of them is the first in the queue.
	d := max(4*e.duration, 10*stallEvery)
	stalls, err := contendAmong(ctx, clients, d, func() error { return waiters.next(signal) })
	if err != nil {
		return nil, err
	}
	return []figure{
		{"stall max", "ms", millis(stalls.percentile(100))},
		{"stall p99", "ms", millis(stalls.percentile(99))},
		{"victims", "", float64(waiters.victims)},
		{"throughput of the others", "locks/s", float64(len(stalls)) / d.Seconds()},
	}, nil
}

// contendAmong has the clients lock one name for d, and returns the times between one acquire and the
// next. Every stallEvery, the current holder calls strike.
func contendAmong(ctx context.Context, clients []client, d time.Duration, strike func() error) (samples, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	// Only the holder of the lock touches these; mu tells the race detector so.
	var mu sync.Mutex
	var stalls samples
	last, struck := time.Now(), time.Now()
	section := func() error {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		stalls = append(stalls, now.Sub(last))
		last = now
		if now.Sub(struck) >= stallEvery {
			struck = now
			return strike()
		}
		time.Sleep(time.Millisecond)
		return nil
	}
	// Goroutines: one per client. Each ends when ctx does; the loop below waits for them.
	failed := make(chan error)
	for _, cl := range clients {
		go func() {
			failed <- lockUntil(ctx, cl, section)
		}()
	}
	var err error
	for range clients {
		if failure := <-failed; failure != nil {
			err = failure
			cancel()
		}
	}
	return append(stalls, time.Since(last)), err
}

// lockUntil locks the trial's name and runs section, again and again, until ctx ends.
func lockUntil(ctx context.Context, cl client, section func() error) error {
	for {
		h, err := cl.Lock(ctx, stallName)
		if ctx.Err() != nil {
			if err == nil { // not every contender watches its context
				return h.Unlock(context.WithoutCancel(ctx))
			}
			return nil
		}
		if err == nil {
			err = errors.Join(section(), h.Unlock(context.WithoutCancel(ctx)))
		}
		if err != nil {
			return err
		}
	}
}

// processes are those that wait, oldest first.
type processes struct {
	contender string
	addresses []string
	live      []*exec.Cmd
	frozen    []*exec.Cmd
	victims   int
}

// start starts a process that waits for the lock, and returns when it is ready to.
func (p *processes) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	waiter := exec.Command(self)
	waiter.Env = append(os.Environ(), waiterVariable+"="+strings.Join(append([]string{p.contender}, p.addresses...), " "))
	waiter.Stderr = os.Stderr
	waiter.SysProcAttr = childAttr()
	out, err := waiter.StdoutPipe()
	if err != nil {
		return err
	}
	if err := waiter.Start(); err != nil {
		return err
	}
	p.live = append(p.live, waiter)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return fmt.Errorf("a waiter does not start: %w: %s", err, line)
	}
	return nil
}

// next sends signal to the oldest waiting process, and starts another in its place.
func (p *processes) next(signal syscall.Signal) error {
	victim := p.live[0]
	p.live = p.live[1:]
	p.victims++
	if err := victim.Process.Signal(signal); err != nil {
		return err
	}
	if signal == syscall.SIGSTOP {
		p.frozen = append(p.frozen, victim)
	} else {
		_ = victim.Wait() // its error only says that it was killed
	}
	return p.start()
}

// close ends all remaining processes.
func (p *processes) close() {
	for _, waiter := range append(p.live, p.frozen...) {
		_ = waiter.Process.Kill()
		_ = waiter.Wait()
	}
}

// waiterVariable is the environment variable that makes this program a waiter. Its value is the name
// of the contender and the addresses of the masters.
const waiterVariable = "REDLOCK_BENCH_WAITER"

// runWaiter waits for the lock until it is killed. When it gets the lock, it releases it at once and
// waits again.
func runWaiter(args string, ready io.Writer) error {
	words := strings.Fields(args)
	for _, c := range allContenders() {
		if c.name != words[0] {
			continue
		}
		cl, err := c.open(words[1:], times{lease, patience})
		if err != nil {
			return err
		}
		fmt.Fprintln(ready, "ready")
		return lockUntil(context.Background(), cl, func() error { return nil })
	}
	return fmt.Errorf("no contender %q", words[0])
}
