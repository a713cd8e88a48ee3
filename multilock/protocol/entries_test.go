package protocol

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/redlock/clock"
)

// wish returns one for so many seconds of lease, limited to so many seconds from the start; 0: not watched,
// or not limited.
func wish(seconds, limit int) Wish {
	return Wish{
		Watched: seconds > 0, Lease: time.Duration(seconds) * time.Second,
		Limited: limit > 0, Limit: clock.Instant{}.Add(time.Duration(limit) * time.Second),
	}
}

// A hold is renewed as long as an entry wants it that somebody can give back, and as that one wants it.
func TestEntriesWish(t *testing.T) {
	fixed := wish(0, 0)
	for _, tt := range []struct {
		name    string
		entries []Wish
		left    []int
		leaked  []int
		want    Wish
	}{
		{name: "none", want: fixed},
		{name: "fixed", entries: []Wish{fixed}, want: fixed},
		{name: "watched", entries: []Wish{wish(3, 9)}, want: wish(3, 9)},
		{name: "fixed in watched", entries: []Wish{wish(3, 0), fixed}, want: wish(3, 0)},
		{name: "fixed in watched that left", entries: []Wish{wish(3, 0), fixed}, left: []int{0}, want: fixed},
		{name: "fixed in watched that leaked", entries: []Wish{wish(3, 0), fixed}, leaked: []int{0}, want: fixed},
		{name: "watched in fixed that left", entries: []Wish{fixed, wish(3, 0)}, left: []int{1}, want: fixed},
		{name: "limits", entries: []Wish{wish(3, 5), wish(3, 9), wish(3, 7)}, want: wish(3, 9)},
		{name: "the last of the limits left", entries: []Wish{wish(3, 5), wish(3, 9), wish(3, 7)}, left: []int{1}, want: wish(3, 7)},
		{name: "a limit beside none", entries: []Wish{wish(3, 5), wish(3, 0)}, want: Wish{Watched: true, Lease: 3 * time.Second, Limit: wish(3, 5).Limit}},
		{name: "a limit without the other", entries: []Wish{wish(3, 5), wish(3, 0)}, left: []int{1}, want: wish(3, 5)},
		{name: "two leases", entries: []Wish{wish(3, 5), wish(8, 5)}, want: wish(8, 5)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var e Entries[int]
			for i, w := range tt.entries {
				e.Ask()
				e.Add(i, w)
			}
			for _, i := range tt.left {
				e.Leave(i)
			}
			for _, i := range tt.leaked {
				if !e.Leak(i) {
					t.Errorf("Leak(%d) = false, want true", i)
				}
			}
			if got := e.Wish(); got != tt.want {
				t.Errorf("Wish = %+v, want %+v", got, tt.want)
			}
			if got, want := e.Leaked(), len(tt.leaked) > 0; got != want {
				t.Errorf("Leaked = %v, want %v", got, want)
			}
		})
	}
}

// That a fixed lease is left to end by itself is no mistake, unless somebody has the hold renewed.
func TestEntriesLeak(t *testing.T) {
	var e Entries[string]
	for name, w := range map[string]Wish{"fixed": wish(0, 0), "watched": wish(3, 0)} {
		e.Ask()
		e.Add(name, w)
	}
	if !e.Leak("fixed") || !e.Leak("watched") {
		t.Error("Leak = false, want that an entry of a renewed hold is missed")
	}
	e = Entries[string]{}
	e.Ask()
	e.Add("fixed", wish(0, 0))
	if e.Leak("fixed") || e.Leaked() {
		t.Error("Leak = true, want that a fixed lease may be left to end")
	}
}

// Whatever becomes of entries, and in whatever order, each is given back once, counts as long as it may be
// given back, and all can be told of the end.
//
// Replay one seed: go test ./multilock/protocol -run 'TestEntriesWalk/seed=17$' -v
func TestEntriesWalk(t *testing.T) {
	for seed := range uint64(500) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 0))
			var e Entries[int]
			var held, told []int // keys; told once it has ended
			asked, ended := 0, false
			for n := range 60 {
				switch k := r.IntN(n + 1); r.IntN(6) {
				case 0:
					if !ended {
						e.Ask()
						asked++
					}
				case 1, 2:
					if asked > 0 && !ended {
						e.Add(n, wish(r.IntN(3), r.IntN(3)))
						asked--
						held = append(held, n)
					}
				case 3:
					if asked > 0 {
						e.Drop()
						asked--
					}
				case 4:
					i := slices.Index(held, k)
					if got := e.Has(k); got != (i >= 0) {
						t.Fatalf("step %d: Has(%d) = %v, and %v are held", n, k, got, held)
					}
					e.Leave(k)
					if i >= 0 {
						held = slices.Delete(held, i, i+1)
					}
				case 5:
					if r.IntN(10) == 0 && !ended {
						e.End()
						ended, told = true, slices.Clone(held)
					}
				}
				inList := held
				if ended {
					inList = told
				}
				var keys []int
				for i := range e.Len() {
					keys = append(keys, e.Key(i))
				}
				if !slices.Equal(keys, inList) || e.Count() != len(inList)+asked {
					t.Fatalf("step %d: %v and %d that were asked for, Count = %d, want %v and %d", n, keys, asked, e.Count(), inList, asked)
				}
			}
		})
	}
}
