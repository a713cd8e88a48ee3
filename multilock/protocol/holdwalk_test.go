package protocol

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/redlock/clock"
)

// Whatever happens to a hold, and in whatever order, each step is right, and every arrow is taken by
// some walk.
//
// Replay one seed: go test ./multilock/protocol -run 'TestHoldWalk/seed=17$' -v
func TestHoldWalk(t *testing.T) {
	took := map[HoldArrow]bool{}
	for seed := range uint64(2000) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			conf := Config{Masters: 1 + r.IntN(Max), Times: Usual}
			now := clock.Instant{}.Add(time.Duration(r.Int64N(int64(100*time.Hour))) - 50*time.Hour)
			soon := func(d time.Duration) time.Duration { return time.Duration(r.Int64N(int64(d))) }
			draw := func(kind HoldKind) HoldEvent {
				return HoldEvent{
					Kind: kind, Until: now.Add(soon(12*time.Second) - time.Second), At: Set(r.Uint32()) & All(conf.Masters),
					Wish: Wish{
						Watched: r.IntN(2) == 0, Lease: time.Second + soon(10*time.Second).Truncate(ms),
						Limited: r.IntN(2) == 0, Limit: now.Add(soon(20 * time.Second)),
					},
					Shared: r.IntN(2) == 0, Writer: r.IntN(2) == 0, Trip: soon(100 * ms),
				}
			}
			var h Hold
			var out HoldEffects
			won := draw(HoldWon)
			won.Short, won.Until = r.IntN(2) == 0, now.Add(1+soon(10*time.Second))
			ev := &won
			for n := range 60 {
				before := h
				h.Step(&conf, now, ev, &out)
				if wrong := wrongsOfHold(&before, &h, now, ev, &out); len(wrong) > 0 {
					t.Fatalf("step %d, %+v: %q", n, *ev, wrong)
				}
				if n > 0 && before.State != h.State {
					took[HoldArrow{From: before.State, To: h.State}] = true
				}
				switch {
				case r.IntN(4) == 0:
					now = now.Add(soon(3 * time.Second))
				case h.Due && r.IntN(2) == 0:
					now = now.Add(max(0, now.Left(h.RenewAt)))
				}
				if r.IntN(30) == 0 {
					h.Want(Wish{})
				}
				kind := HoldWatch + HoldKind(r.IntN(int(HoldDue)))
				if (kind == HoldEnd || kind == HoldLost) && r.IntN(4) > 0 {
					kind = HoldRenewed
				}
				next := draw(kind)
				ev = &next
			}
		})
	}
	if t.Failed() {
		return
	}
	for _, a := range HoldArrows {
		if !took[HoldArrow{From: a.From, To: a.To}] {
			t.Errorf("no walk went from %v to %v (%s)", a.From, a.To, a.Why)
		}
	}
}
