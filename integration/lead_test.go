//go:build unix

package integration

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"syscall"
	"testing"
	"time"

	containers "example.com/redlock/integration/fleet"
	"example.com/redlock/redlock"
)

// TestLead: of three processes one leads. One that resigns is followed at once, one that is killed or stopped
// within its lease; a process that was stopped does not lead when it wakes up. Tokens grow from leader to leader.
func TestLead(t *testing.T) {
	const lease = 2 * time.Second
	if ctx, urls := inChild(t); urls != nil {
		campaign(ctx, t, redlock.Config{Masters: urls, RestartGuard: -1, Lease: lease})
		return
	}
	t.Parallel()
	ctx := begin(t, time.Minute)
	f := startFleet(ctx, t, containers.Config{Masters: 3})
	told := make(chan election, 16)
	start := func() *child {
		c := f.child(ctx)
		go func() {
			for c.says.Scan() {
				if e := (election{of: c}); json.Unmarshal(c.says.Bytes(), &e) == nil {
					told <- e
				}
			}
			_ = c.Wait() // it may have been killed
		}()
		return c
	}
	next := func(what string) election {
		t.Helper()
		select {
		case e := <-told:
			return e
		case <-ctx.Done():
			t.Fatalf("nothing was told of %s", what)
			panic("unreachable")
		}
	}
	// elected waits for a leader after what happened, and, if old is not nil, for old to say that it leads no
	// more: what two processes say may come in either order.
	last := int64(0)
	elected := func(what string, most time.Duration, old *child) (leader *child) {
		t.Helper()
		for began := time.Now(); leader == nil || old != nil; {
			e := next(what)
			switch took := time.Since(began); {
			case !e.Leads && e.of == old:
				old = nil
				continue
			case !e.Leads || leader != nil || e.Token <= last || took > most:
				t.Fatalf("%s: %+v after %v, want a leader with a token above %d within %v", what, e, took, last, most)
			}
			leader, last = e.of, e.Token
		}
		return leader
	}

	var all []*child
	for range 3 {
		all = append(all, start())
	}
	leader := elected("the first election", 20*time.Second, nil)
	time.Sleep(time.Second) // the others wait by then
	var took []time.Duration
	for range 5 {
		began := time.Now()
		did(t, leader.in.Close())
		next := elected("an end in order", 20*time.Second, leader)
		took = append(took, time.Since(began))
		all = append(slices.DeleteFunc(all, func(c *child) bool { return c == leader }), start())
		leader = next
		time.Sleep(500 * time.Millisecond)
	}
	slices.Sort(took)
	if most := lease / 2; took[len(took)/2] > most { // one that is late may be the machine's
		t.Errorf("after an end in order the next leads within %v, want the median to be %v at most", took, most)
	}
	t.Logf("after an end in order the next leads within %v (median of %d)", took[len(took)/2], len(took))

	did(t, leader.Process.Kill())
	leader = elected("a kill", lease+3*time.Second, nil)
	did(t, leader.Process.Signal(syscall.SIGSTOP))
	woken := leader
	leader = elected("a stop", lease+3*time.Second, nil)
	did(t, woken.Process.Signal(syscall.SIGCONT))
	if e := next("waking up"); e.Leads || e.of != woken {
		t.Errorf("after waking up: %+v, want that it leads no more", e)
	}
	did(t, leader.in.Close())
	if woken = elected("the last end", lease, leader); woken == leader {
		t.Error("who has ended leads")
	}
	for _, c := range all {
		_ = c.in.Close() // of some that are gone
	}
}

// election is what a candidate tells of itself.
type election struct {
	Leads bool
	Token int64
	of    *child
}

// campaign is the process.
func campaign(ctx context.Context, t *testing.T, cfg redlock.Config) {
	client, err := redlock.New(cfg)
	did(t, err)
	defer client.Close()
	err = client.Lead(ctx, "the scheduler", func(ctx context.Context) error {
		say(election{Leads: true, Token: redlock.Token(ctx)})
		<-ctx.Done()
		say(election{Token: redlock.Token(ctx)})
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Lead = %v, want %v", err, context.Canceled)
	}
}
