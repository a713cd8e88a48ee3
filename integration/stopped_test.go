//go:build unix

package integration

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	containers "example.com/redlock/integration/fleet"
	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
)

// TestOverloadStopped: a process with many holds and waiting callers is stopped for a while. It goes on over the
// connections that it had, and has lost no hold if it was stopped for less than a lease, and all otherwise.
func TestOverloadStopped(t *testing.T) {
	holds, waiters, lease := size(500, 10_000), size(100, 1000), 30*time.Second
	if urls := os.Getenv(childMasters); urls != "" {
		beStopped(t, redlock.Config{Masters: strings.Split(urls, ","), RestartGuard: redlock.GuardOff}, holds, waiters)
		return
	}
	ctx := begin(t)
	f := startFleet(ctx, t, containers.Config{Masters: 3})
	hold := mustLock(ctx, t, f.client(redlock.Config{}), "taken")

	// The child is this program again. It says lines of JSON until its input ends.
	child := exec.CommandContext(ctx, os.Args[0], fmt.Sprintf("-full=%v", *full), "-test.run=^TestOverloadStopped$")
	child.Env = append(os.Environ(), childMasters+"="+strings.Join(f.urls(), ","))
	out, err := child.StdoutPipe()
	check.OK(t, err)
	in, err := child.StdinPipe()
	check.OK(t, err)
	check.OK(t, child.Start())
	says := bufio.NewScanner(out)
	var state stopped
	// until reads what the child says of itself until it has something.
	until := func(what string, ok func() bool) (took time.Duration) {
		t.Helper()
		began := time.Now()
		for says.Scan() {
			if json.Unmarshal(says.Bytes(), &state) == nil && ok() {
				return time.Since(began)
			} else if time.Since(began) > time.Minute {
				_ = child.Process.Kill()
			}
		}
		t.Fatalf("the child ended, or said for a minute nothing else, before %s: %+v", what, state)
		return 0
	}
	until("it held all", func() bool { return state.Held == holds && state.Waiting == waiters })
	until("all had turns", func() bool { return state.Turns >= 100 })
	before, accepted := state, f.accepted(t)
	pause := size(3*time.Second, time.Minute)
	check.OK(t, child.Process.Signal(syscall.SIGSTOP))
	time.Sleep(pause)
	check.OK(t, child.Process.Signal(syscall.SIGCONT))
	back := until("it took turns again", func() bool { return state.Turns >= before.Turns+100 })
	if pause > lease {
		until("it lost all", func() bool { return state.Held == 0 })
	} else if state.Held != holds {
		t.Errorf("%d of %d holds are left", state.Held, holds)
	}
	mustUnlock(ctx, t, hold)
	served := until("all were served", func() bool { return state.Waiting == 0 })
	for i, now := range f.accepted(t) {
		if again := now.since(accepted[i]) - 1; again > size(0, 1) { // this question's own
			t.Errorf("the client connected to %s %d times again", f.masters[i].Name(), again)
		}
	}
	t.Logf("stopped for %v with %d holds and %d waiting callers: 100 turns more after %.1f s; %d holds left; all callers served within %.1f s; goroutines %d, before %d; heap %d KiB, before %d",
		pause, holds, waiters, back.Seconds(), state.Held, served.Seconds(), state.Goroutines, before.Goroutines, state.HeapKiB, before.HeapKiB)
	check.OK(t, in.Close())
	check.OK(t, child.Wait())
}

// childMasters tells the child where the masters are.
const childMasters = "REDLOCK_TEST_CHILD_MASTERS"

// stopped is what the client of TestOverloadStopped says of itself.
type stopped struct {
	Turns               int // so far
	Held, Waiting       int
	Goroutines, HeapKiB int
}

// beStopped is the process that is stopped: it says each 100 ms how it is, until its input ends.
func beStopped(t *testing.T, cfg redlock.Config, holds, waiters int) {
	ctx, end := context.WithCancel(t.Context())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		end()
	}()
	client, err := redlock.New(cfg)
	check.OK(t, err)
	var all sync.WaitGroup
	defer all.Wait()
	defer client.Close()
	var held, waiting, turns atomic.Int64
	for i := range holds {
		all.Go(func() {
			hold, err := client.Lock(ctx, fmt.Sprint("orders:", i))
			if err == nil {
				held.Add(1)
				<-hold.Context().Done()
				held.Add(-1)
			}
		})
	}
	for range waiters {
		waiting.Add(1)
		all.Go(func() {
			defer waiting.Add(-1)
			if hold, err := client.Lock(ctx, "taken"); err == nil {
				_ = hold.Unlock(ctx)
			}
		})
	}
	for i := range 8 {
		all.Go(func() {
			for ctx.Err() == nil {
				if hold, err := client.Lock(ctx, fmt.Sprint("turns:", i%4)); err == nil {
					turns.Add(1)
					_ = hold.Unlock(ctx)
				}
			}
		})
	}
	for ctx.Err() == nil {
		time.Sleep(100 * time.Millisecond)
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		line, _ := json.Marshal(stopped{
			Turns: int(turns.Load()), Held: int(held.Load()), Waiting: int(waiting.Load()),
			Goroutines: runtime.NumGoroutine(), HeapKiB: int(stats.HeapAlloc >> 10),
		})
		fmt.Println(string(line))
	}
}
