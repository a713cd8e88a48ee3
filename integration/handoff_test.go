//go:build unix

package integration

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/redlock"
)

// waiter is a client in a process of its own that waits for the lock again and again.
type waiter struct {
	process *exec.Cmd
	stdin   io.Closer
}

func (f *fleet) startWaiter(t *testing.T, fenced *master) *waiter {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var addresses []string
	for _, m := range f.masters {
		addresses = append(addresses, m.addr)
	}
	w := &waiter{process: exec.Command(self)}
	w.process.Env = append(os.Environ(), waiterVariable+"="+strings.Join(append(addresses, fenced.addr), ","))
	w.process.Stderr = os.Stderr
	if w.stdin, err = w.process.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := w.process.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = w.process.Process.Kill() // it may be frozen, or dead
		_ = w.process.Wait()
	})
	return w
}

// busy is how much longer than promised a stall may take on a machine that also runs a dozen
// processes of the test, with the race detector.
const busy = 500 * time.Millisecond

// TestWaitersThatGo: clients compete while every 200 ms a waiter in another process is killed or
// frozen. They wait for a killed one for at most 1 s, the longest lease for which a lock is handed
// over, and for frozen ones for at most 2 s.
func TestWaitersThatGo(t *testing.T) {
	for name, c := range map[string]struct {
		signal syscall.Signal
		most   time.Duration
	}{
		"killed": {syscall.SIGKILL, time.Second},
		"frozen": {syscall.SIGSTOP, 2 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			const every, victims, clients, waiters = 200 * time.Millisecond, 20, 4, 5
			ctx := begin(t, time.Minute)
			f := startFleet(ctx, t, fleetConfig{Masters: 6})
			fenced := f.masters[5] // not one of the lock's masters
			f.masters = f.masters[:5]
			guarded := &resource{t: t}
			var herd []*waiter
			for range waiters {
				herd = append(herd, f.startWaiter(t, fenced))
			}

			strike := make(chan func())
			working, done := context.WithCancel(ctx)
			defer done()
			var mu sync.Mutex // guards what follows
			var longest time.Duration
			var last time.Time
			turns := 0
			use := func(who int64, hold *redlock.Hold) {
				mu.Lock()
				now := time.Now()
				if !last.IsZero() {
					longest = max(longest, now.Sub(last))
				}
				last, turns = now, turns+1
				mu.Unlock()
				guarded.use(who, hold)
				if ok, err := redis.Bool(fenced.run(fence, "fence", hold.Token())); err != nil || !ok {
					t.Errorf("the fence refuses token %d of a hold that lives: %v", hold.Token(), err)
				}
				select { // the victim is waiting now, since we hold the lock
				case do := <-strike:
					do()
				default:
				}
			}
			var wg sync.WaitGroup
			for who := range clients {
				client := f.client(redlock.Config{Lease: waiterLease})
				wg.Go(func() {
					for working.Err() == nil {
						hold, err := client.Lock(ctx, "orders:42")
						if err != nil {
							t.Errorf("Lock = %v", err)
							return
						}
						use(int64(who+1), hold)
						if err := hold.Unlock(ctx); err != nil {
							t.Errorf("Unlock = %v", err)
						}
					}
				})
			}
			time.Sleep(time.Second) // the processes have started
			mu.Lock()
			longest = 0
			mu.Unlock()
			var frozen []*waiter
			for range victims {
				time.Sleep(every)
				victim := herd[0]
				struck := make(chan error, 1)
				select {
				case strike <- func() { struck <- victim.process.Process.Signal(c.signal) }:
				case <-ctx.Done():
					t.Fatal("nobody had the lock to strike")
				}
				if err := <-struck; err != nil {
					t.Fatalf("signal %v: %v", c.signal, err)
				}
				frozen = append(frozen, victim)
				herd = append(herd[1:], f.startWaiter(t, fenced))
			}
			time.Sleep(time.Second) // until the last victim's turn has come
			mu.Lock()
			longest = max(longest, time.Since(last))
			f.log.event("%d waiting clients %s: longest stall %v in %d turns", victims, name, longest, turns)
			if longest > c.most+busy {
				t.Errorf("longest stall %v, want at most %v", longest, c.most+busy)
			}
			mu.Unlock()
			if c.signal == syscall.SIGSTOP { // what the victims do after they wake harms nobody
				for _, w := range frozen {
					_ = w.process.Process.Signal(syscall.SIGCONT)
				}
				time.Sleep(500 * time.Millisecond)
			}
			done()
			wg.Wait()
			for _, w := range append(herd, frozen...) {
				_ = w.process.Process.Kill()
			}
			t.Parallel() // it takes many seconds until the queue entries of the dead expire
			eventually(ctx, t, queueLife+waiterLease, "the dead leave no lock and no queue behind", func() error {
				return nothing(f.masters, "orders:42", queueOf("orders:42"))
			})
		})
	}
}
