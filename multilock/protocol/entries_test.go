package protocol

import (
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
		{name: "fixed in watched", entries: []Wish{wish(3, 0), fixed}, want: wish(3, 0)},
		{name: "fixed in watched that leaked", entries: []Wish{wish(3, 0), fixed}, leaked: []int{0}, want: fixed},
		{name: "the last of the limits left", entries: []Wish{wish(3, 5), wish(3, 9), wish(3, 7)}, left: []int{1}, want: wish(3, 7)},
		{name: "a limit beside none", entries: []Wish{wish(3, 5), wish(3, 0)}, want: Wish{Watched: true, Lease: 3 * time.Second, Limit: wish(3, 5).Limit}},
		{name: "two leases", entries: []Wish{wish(3, 5), wish(8, 5)}, want: wish(8, 5)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := entriesScene{T: t}
			for i, w := range tt.entries {
				s.enters(i, w)
			}
			for _, i := range tt.left {
				s.step(i, HoldEvent{Kind: HoldLeft})
			}
			for _, i := range tt.leaked {
				if !s.Leak(i) {
					t.Errorf("Leak(%d) = false, want true", i)
				}
			}
			if tt.want.Lease == 0 {
				tt.want.Lease = s.Wish.Lease // of no renewal
			}
			if s.Wish != tt.want {
				t.Errorf("%+v is wanted, want %+v", s.Wish, tt.want)
			}
			if got, want := s.Leaked(), len(tt.leaked) > 0; got != want {
				t.Errorf("Leaked = %v, want %v", got, want)
			}
		})
	}
}

// entriesScene is a hold that is valid for an hour, unless something ends it.
type entriesScene struct {
	*testing.T
	Entries[int]
	conf Config
	out  HoldEffects
	told []int // the hold counts that the masters were to set
}

func (s *entriesScene) step(key int, ev HoldEvent) {
	s.conf = Config{Masters: 3, Times: Usual}
	s.Step(&s.conf, clock.Instant{}, key, &ev, &s.out)
	if s.out.Count > 0 {
		s.told = append(s.told, s.out.Count)
	}
}

// enters adds an entry, the first of which makes the hold.
func (s *entriesScene) enters(key int, w Wish) {
	hour := clock.Instant{}.Add(time.Hour)
	if len(s.List) == 0 {
		s.step(key, HoldEvent{Kind: HoldWon, Until: hour, At: 0b111, Wish: w})
		return
	}
	s.step(key, HoldEvent{Kind: HoldEnter})
	s.step(key, HoldEvent{Kind: HoldEntered, Until: hour, Wish: w})
}

// What the masters are told, and what ends the hold, in the order in which callers enter and leave it.
func TestEntries(t *testing.T) {
	fixed := wish(0, 0)
	for name, tt := range map[string]struct {
		story func(s *entriesScene)
		told  []int
		state HoldState
	}{
		"each leaves": {func(s *entriesScene) {
			s.enters(1, fixed)
			s.step(0, HoldEvent{Kind: HoldLeft})
			s.step(1, HoldEvent{Kind: HoldLeft})
		}, []int{2, 1}, Released},
		"twice": {func(s *entriesScene) {
			s.enters(1, fixed)
			s.step(1, HoldEvent{Kind: HoldLeft})
			s.step(1, HoldEvent{Kind: HoldLeft})
		}, []int{2, 1}, Valid},
		"the last that is asked for is denied": {func(s *entriesScene) {
			s.step(1, HoldEvent{Kind: HoldEnter})
			s.step(0, HoldEvent{Kind: HoldLeft})
			s.step(1, HoldEvent{Kind: HoldDenied})
		}, []int{2, 1}, Released},
		"one finds it lost": {func(s *entriesScene) {
			s.step(1, HoldEvent{Kind: HoldEnter})
			s.step(1, HoldEvent{Kind: HoldDenied, Lost: true, Writer: true})
		}, []int{2}, Lost},
		"one finds the writer lost that has become a reader": {func(s *entriesScene) {
			s.step(1, HoldEvent{Kind: HoldEnter})
			s.step(0, HoldEvent{Kind: HoldDowngrade})
			s.step(1, HoldEvent{Kind: HoldDenied, Lost: true, Writer: true})
			s.step(0, HoldEvent{Kind: HoldLost, Writer: true})
		}, []int{2, 1, 1}, Valid},
		"a writer to a reader": {func(s *entriesScene) {
			s.step(0, HoldEvent{Kind: HoldDowngrade})
			s.step(1, HoldEvent{Kind: HoldEnter})
			s.step(1, HoldEvent{Kind: HoldEnter, Shared: true})
		}, []int{2}, Valid},
		"after the end": {func(s *entriesScene) {
			s.step(1, HoldEvent{Kind: HoldEnter})
			s.step(0, HoldEvent{Kind: HoldLost})
			s.step(1, HoldEvent{Kind: HoldEntered, Until: s.Until})
			s.step(1, HoldEvent{Kind: HoldEnter})
			if len(s.List) != 1 || !s.Has(0) {
				s.Errorf("entries %+v of a hold that has ended, want the one", s.List)
			}
			if s.step(0, HoldEvent{Kind: HoldLeft}); s.Has(0) || len(s.List) != 1 {
				s.Errorf("entries %+v, want the one in the list, and given back", s.List)
			}
		}, []int{2}, Lost},
	} {
		t.Run(name, func(t *testing.T) {
			s := entriesScene{T: t}
			s.enters(0, fixed)
			tt.story(&s)
			if !slices.Equal(s.told, tt.told) || s.State != tt.state {
				t.Errorf("the masters were told %v, and it is %v; want %v and %v", s.told, s.State, tt.told, tt.state)
			}
		})
	}
}
