package script

import (
	"fmt"
	"testing"
)

// TestRenewalsAreIsolated: an error is the answer to its own hold, and those before and behind it are renewed,
// also where a lock's fencing counter is none.
func TestRenewalsAreIsolated(t *testing.T) {
	for mode, as := range []func(key string) *Owner{
		Exclusive: func(key string) *Owner { return NewOwner(key, id("me:r1")) },
		Shared:    func(key string) *Owner { return NewReader(key, id("me:r1")) },
	} {
		t.Run(fmt.Sprint(mode), func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				var holds []Renewal
				for _, key := range []string{"a", "spoilt", "b"} {
					holds = append(holds, Renewal{Owner: as(key), Count: 1, Token: 7})
					if key != "spoilt" {
						h.run(as(key).Acquire(lease/2, 7))
					}
				}
				h.do("SET", holds[1].name, "v")
				h.do("DEL", "redlock_fence:{a}")
				h.do("HSET", "redlock_fence:{a}", "x", "y")
				h.do("SET", "redlock_fence:{b}", "x")
				got := h.run(Renew(lease, holds))
				if got.Outcome != Done || got.Renewed[0] != Extended || got.Renewed[1] != NotLock || got.Renewed[2] != Extended {
					t.Errorf("answered %+v, want the second alone to be no lock", got)
				}
				for _, i := range []int{0, 2} {
					if left := h.m.TTL(holds[i].name.(string)); left < lease {
						t.Errorf("%s is left for %v, want %v", holds[i].Key, left, lease)
					}
				}
				if a, b := h.m.HGet("redlock_fence:{a}", "x"), h.m.Get("redlock_fence:{b}"); a != "y" || b != "x" {
					t.Errorf("what is no counter became %q and %q", a, b)
				}
			})
		})
	}
}
