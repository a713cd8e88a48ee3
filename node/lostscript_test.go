package node

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
	"example.com/redlock/redlocktest"
)

// TestScriptIsAlwaysLost: a master that loads no script whatever it is sent answers each
// command all the same, with what it says to the source.
func TestScriptIsAlwaysLost(t *testing.T) {
	bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
		var broken atomic.Bool
		cfg.Pool = withBentConns(cfg.Pool, &bendRules{reply: func(words string) any {
			switch {
			case !broken.Load():
			case strings.HasPrefix(words, "EVALSHA"):
				return redis.Error("NOSCRIPT No matching script.")
			case strings.HasPrefix(words, "EVAL"):
				return redis.Error("NOPERM this user has no permissions to run the 'eval' command")
			}
			return nil
		}})
		n := started(t, cfg)
		m.Delay(time.Millisecond)
		broken.Store(true)
		calls := scriptCalls(m)
		const many = 100
		var all []*pending
		for range many {
			all = append(all, send(n, script.Inspect("k")))
		}
		for _, p := range all {
			wantErr(t, "inspect", p.wait(), script.Failed, "NOPERM")
		}
		if got := scriptCalls(m) - calls; got > 3*many {
			t.Errorf("script calls: got %d, want at most three for each command", got)
		}
	})
}

// TestWithdrawnFromBatch: of a batch of renewals only the hold that is released is withdrawn. Each
// answer is at the place of its hold, and the one withdrawn does not count as a hold that is gone.
func TestWithdrawnFromBatch(t *testing.T) {
	for _, tt := range []struct {
		name     string
		released []int
		want     string
	}{
		{"first", []int{0}, "[-2 -1 2 1 -3]"},
		{"in between", []int{2}, "[1 -1 -2 1 -3]"},
		{"last two", []int{2, 3}, "[1 -1 -2 -2 -3]"},
		{"first and last", []int{0, 3}, "[-2 -1 2 -2 -3]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T, m *redlocktest.Master, cfg Config) {
				n := started(t, cfg)
				var holds []script.Renewal
				m.Set("k4", "no lock")
				for i := range 5 {
					holds = append(holds, script.Renewal{Owner: script.NewOwner(fmt.Sprint("k", i), id(fmt.Sprint("me:", i))), Count: 1, Token: 1})
				}
				for i, owner := range map[int]string{0: id("me:0"), 1: id("you:1"), 3: id("me:3")} {
					want(t, "acquire", sendAndWait(n, script.NewOwner(holds[i].Key, owner).Acquire(time.Second, 1)), script.Done)
				}
				m.FlushScripts()
				m.Delay(10 * time.Millisecond)
				renewed := send(n, script.Renew(lease, holds))
				synctest.Wait()
				for _, i := range tt.released {
					send(n, holds[i].Release(1, 0))
				}
				got := renewed.wait()
				want(t, "renew", got, script.Done)
				if s := fmt.Sprint(got.Renewed); s != tt.want {
					t.Errorf("renewed: got %s, want %s", s, tt.want)
				}
				if !contains(got.Errors[4], "no lock") || len(got.Errors) != 1 {
					t.Errorf("what is no lock: got %v, want k4 alone", got.Errors)
				}
				if !contains(got.Err, "withdrawn") {
					t.Errorf("error: got %v, want why it is not known of all", got.Err)
				}
				m.Delay(0)
				for i, h := range holds {
					mine := h.ID
					if i == 1 {
						mine = id("you:1")
					}
					if i == 4 || slices.Contains(tt.released, i) {
						mine = ""
					}
					wantHolder(t, m, h.Key, mine)
				}
			})
		})
	}
}
