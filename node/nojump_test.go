package node

import (
	"math/rand/v2"
	"testing"
	"time"

	"example.com/redlock/redlocktest"
)

// TestSlowNetworkIsNoJump: nor is one whose delay changes all the time.
func TestSlowNetworkIsNoJump(t *testing.T) {
	watching(t, func(t *testing.T, m *redlocktest.Master, n *Node, log *journal) {
		random := rand.New(rand.NewPCG(1, 2))
		for range 10_000 {
			m.Delay(time.Duration(random.Int64N(int64(timeout / 3))))
			time.Sleep(time.Duration(random.Int64N(int64(time.Second))))
		}
		if m.Calls("CLIENT") > 1 || m.Calls("TIME") < 4000 {
			t.Errorf("handshakes: got %d, samples %d; want one, and one each second", m.Calls("CLIENT"), m.Calls("TIME"))
		}
		wantSteady(t, n, log)
	})
}

// TestFrozenMasterIsNoJump: a sample may take as long as an answer may.
func TestFrozenMasterIsNoJump(t *testing.T) {
	for _, frozen := range []time.Duration{timeout * 9 / 10, 10 * time.Second, time.Minute} {
		t.Run(frozen.String(), func(t *testing.T) {
			watching(t, func(t *testing.T, m *redlocktest.Master, n *Node, log *journal) {
				for range 20 {
					m.Freeze()
					time.Sleep(frozen)
					m.Thaw()
					time.Sleep(1234 * time.Millisecond)
				}
				until(t, time.Second, n.isUp)
				time.Sleep(2 * heartbeat)
				wantSteady(t, n, log)
			})
		})
	}
}

// TestStoppedClientIsNoJump: an answer that the client reads long after it has come, since
// it was stopped, says nothing of the time between. For the client's other clocks it is the
// same as when the machine was suspended; see TestPaceOfOne.
func TestStoppedClientIsNoJump(t *testing.T) {
	for _, stopped := range []time.Duration{timeout / 2, time.Hour} {
		t.Run(stopped.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				log := new(journal)
				cfg.Logger = log.logger()
				many, held := 0, false
				cfg.Pool = bend(cfg.Pool, &rules{answer: func(words string) any {
					if words == "TIME" {
						if many++; many%3 == 0 {
							time.Sleep(stopped)
							held = true
						}
					}
					return nil
				}})
				n := started(t, cfg)
				time.Sleep(10 * stopped)
				until(t, timeout+stopped, n.isUp)
				time.Sleep(2 * heartbeat)
				if n.Close(); !held { // from here on nobody reads
					t.Error("no sample was held up")
				}
				wantSteady(t, n, log)
			})
		})
	}
}
