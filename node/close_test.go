package node

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// closed closes n and returns how long that took.
func closed(n *Node) time.Duration {
	begin := time.Now()
	n.Close()
	return time.Since(begin)
}

// TestNoConnectionIsLost: whatever happens, none is left open in the end.
func TestNoConnectionIsLost(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		n := started(t, cfg)
		for range 5 {
			m.Refuse("MISCONF no disk")
			waitUntil(t, 3*time.Second, n.Down)
			m.Refuse("")
			waitUntil(t, time.Second, n.isUp)
			m.RestartWithData()
			time.Sleep(3 * time.Second)
			m.SetRole("slave")
			send(n, script.NewOwner("k", "me:1").Acquire(lease, 1)).wait()
			time.Sleep(3 * time.Second)
			m.SetRole("master")
			waitUntil(t, time.Second, n.isUp)
		}
		n.Close()
		check.Equal(t, cfg.Pool.ActiveCount(), 0, "connections of the pool")
		synctest.Wait() // the master has seen it
		check.Equal(t, m.Connections(), 0, "connections of the master")
	})
}

// TestCloseIsBounded: by about two timeouts, in every state, and everything is answered, and what is sent meanwhile at once.
func TestCloseIsBounded(t *testing.T) {
	none := func(*Node) {}
	noticed := func(n *Node) { waitUntil(t, 4*time.Second, n.Down) }
	asked := func(n *Node) { sendAndWait(n, script.Inspect("k")) }
	for _, tt := range []struct {
		name  string
		fault func(*redlocktest.Master)
		then  func(*Node)
		most  time.Duration
	}{
		{"up", (*redlocktest.Master).Mend, none, 0},
		{"dead, not noticed", (*redlocktest.Master).Kill, none, 0},
		{"frozen", (*redlocktest.Master).Freeze, none, timeout},
		{"cut off", (*redlocktest.Master).Cut, none, timeout},
		{"down", (*redlocktest.Master).Kill, noticed, 0},
		{"down and cut off", (*redlocktest.Master).Cut, noticed, 0},
		{"down and frozen", (*redlocktest.Master).Freeze, noticed, 2 * timeout},
		{"connecting to a frozen one", (*redlocktest.Master).Freeze, asked, 2 * timeout},
		{"connecting to one that is cut off", (*redlocktest.Master).Cut, asked, 2 * timeout},
	} {
		for _, commands := range []int{0, 3} {
			subtest(t, fmt.Sprintf("%s, %d commands", tt.name, commands), func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				tt.fault(m)
				tt.then(n)
				var sent []*pending
				for range commands {
					sent = append(sent, send(n, script.NewOwner("k", "me:1").Acquire(lease, 1)), send(n, script.NewOwner("k", "me:1").Release(1, 0)))
				}
				took := make(chan time.Duration, 1)
				go func() { took <- closed(n) }()
				synctest.Wait()
				wantErr(t, "what is sent meanwhile", send(n, script.Inspect("k")).look(), script.Unsent, ErrClosed.Error())
				check.AtMost(t, <-took, tt.most, "Close took")
				synctest.Wait() // a timer may still pass answers on
				for _, p := range sent {
					check.Equal(t, p.look().times, 1, "answers")
				}
			})
		}
	}
}
