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

// Clients contend for one name, while others, which are processes of their own and wait for
// it, are killed or frozen.

// stallsTrials shows what a waiter that is gone costs the others. The one that is
// picked waits for sure: somebody else has the lock at that moment.
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
			title: fmt.Sprintf("%d clients on one name, which each keeps for 1 ms; a waiting one of another process is %s every %v",
				stallClients, how.title, stallEvery),
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
	stallWaiters = 4 // that live
)

func measureStalls(ctx context.Context, e *env, c contender, signal syscall.Signal) (_ []figure, err error) {
	clients, closeAll, err := e.openMany(ctx, c, stallClients)
	if err != nil {
		return nil, err
	}
	defer closing(closeAll, &err)
	herd := &herd{contender: c.name, addresses: e.fleet.addresses(c.masters)}
	defer herd.close()
	for range stallWaiters {
		if err := herd.start(); err != nil {
			return nil, err
		}
	}

	// Enough victims that one of them is the next in line.
	d := max(4*e.duration, 10*stallEvery)
	stalls, err := contendAmong(ctx, clients, d, func() error { return herd.next(signal) })
	if err != nil {
		return nil, err
	}
	return []figure{
		{"stall max", "ms", millis(stalls.percentile(100))},
		{"stall p99", "ms", millis(stalls.percentile(99))},
		{"victims", "", float64(herd.victims)},
		{"throughput of the others", "locks/s", float64(len(stalls)) / d.Seconds()},
	}, nil
}

// contendAmong has the clients lock one name for d, and returns the times that went by from one
// of them getting it to the next. Every stallEvery, whoever has it calls strike.
func contendAmong(ctx context.Context, clients []client, d time.Duration, strike func() error) (samples, error) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	// The holder of the lock has these to itself, and mu says so to the race detector.
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

// lockUntil locks the name of the trial for section, again and again, until ctx ends.
func lockUntil(ctx context.Context, cl client, section func() error) error {
	for {
		h, err := cl.Lock(ctx, stallName)
		if ctx.Err() != nil {
			if err == nil { // not every contender looks at its context
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

// herd is the processes that wait, the one that has lived longest first.
type herd struct {
	contender string
	addresses []string
	live      []*exec.Cmd
	frozen    []*exec.Cmd
	victims   int
}

// start starts a process that waits for the lock, and returns when it does.
func (h *herd) start() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	waiter := exec.Command(self)
	waiter.Env = append(os.Environ(), waiterVariable+"="+strings.Join(append([]string{h.contender}, h.addresses...), " "))
	waiter.Stderr = os.Stderr
	waiter.SysProcAttr = childAttr()
	out, err := waiter.StdoutPipe()
	if err != nil {
		return err
	}
	if err := waiter.Start(); err != nil {
		return err
	}
	h.live = append(h.live, waiter)
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		return fmt.Errorf("a waiter does not start: %w: %s", err, line)
	}
	return nil
}

// next sends a signal to a process that waits, and starts another in its place.
func (h *herd) next(signal syscall.Signal) error {
	victim := h.live[0]
	h.live = h.live[1:]
	h.victims++
	if err := victim.Process.Signal(signal); err != nil {
		return err
	}
	if signal == syscall.SIGSTOP {
		h.frozen = append(h.frozen, victim)
	} else {
		_ = victim.Wait() // it says that it was killed
	}
	return h.start()
}

// close ends what is left.
func (h *herd) close() {
	for _, waiter := range append(h.live, h.frozen...) {
		_ = waiter.Process.Kill()
		_ = waiter.Wait()
	}
}

// waiterVariable of the environment makes this program a waiter: it has the name of the
// contender and the addresses of the masters.
const waiterVariable = "REDLOCK_BENCH_WAITER"

// beWaiter waits for the lock until it is killed. It keeps it no longer than it must.
func beWaiter(what string, ready io.Writer) error {
	words := strings.Fields(what)
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
