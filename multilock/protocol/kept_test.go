package protocol

import (
	"testing"
	"time"

	"example.com/redlock/clock"
)

// The first of a range is only that of what was granted at once.
func TestFirstToken(t *testing.T) {
	granted := Master{Voted: true}
	handedOff := Master{Voted: true, HandedOff: true}
	for name, tt := range map[string]struct {
		c    Contender
		want int64
	}{
		"a client that keeps nothing": {Contender{Round: 1, Masters: [Max]Master{granted, granted}}, 5000},
		"granted":                     {Contender{Want: Want{Keep: true, Wait: true}, Round: 1, Masters: [Max]Master{granted, granted}}, 4001},
		"a try, after a split":        {Contender{Want: Want{Keep: true}, Round: 3, Masters: [Max]Master{granted, granted}}, 4001},
		"after a wait":                {Contender{Want: Want{Keep: true, Wait: true}, Round: 2, Masters: [Max]Master{granted, granted}}, 5000},
		"handed off":                  {Contender{Want: Want{Keep: true, Wait: true}, Round: 1, Masters: [Max]Master{granted, handedOff}}, 5000},
	} {
		tt.c.Token = 5000
		if got := tt.c.First(); got != tt.want {
			t.Errorf("%s: the first token is %d, want %d", name, got, tt.want)
		}
	}
}

// What stays with a client was given back by a writer who had a token to spare, and no renewal of it is on its way.
func TestKeep(t *testing.T) {
	for name, tt := range map[string]struct {
		token int64
		then  []HoldKind
		want  bool
	}{
		"given back":                               {1, []HoldKind{HoldEnd}, true},
		"a renewal that was sent":                  {1, []HoldKind{HoldExtend, HoldSent, HoldEnd}, true},
		"a renewal that was made":                  {1, []HoldKind{HoldExtend, HoldEnd}, false},
		"one of two renewals that were made":       {1, []HoldKind{HoldRenew, HoldExtend, HoldSent, HoldEnd}, false},
		"a renewal that was sent since":            {1, []HoldKind{HoldRenew, HoldEnd, HoldSent}, true},
		"a renewal that is meant when it has":      {1, []HoldKind{HoldEnd, HoldExtend, HoldRenew, HoldDowngrade}, true},
		"the last token but one":                   {Range - 1, []HoldKind{HoldEnd}, true},
		"the last token, as of what is handed off": {Range, []HoldKind{HoldEnd}, false},
		"a reader by now":                          {1, []HoldKind{HoldDowngrade, HoldSent, HoldEnd}, false},
		"lost":                                     {1, []HoldKind{HoldLost}, false},
		"live":                                     {1, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			playHold(t, HoldEvent{}, func(s *holdScene) {
				for _, kind := range tt.then {
					s.does(kind)
				}
				k, ok := s.h.Keep(tt.token, Range)
				if ok != tt.want || k != (Kept{Until: s.h.Until, Token: tt.token, Last: Range}) {
					t.Errorf("%+v stays: %v, want %v", k, ok, tt.want)
				}
			})
		})
	}
}

func TestKeptTake(t *testing.T) {
	const lease = time.Second
	full := clock.Validity(lease, 0)
	for name, tt := range map[string]struct {
		token   int64
		left    time.Duration
		watched bool
		want    time.Duration // 0: refused
	}{
		"half of the lease":                  {1, full / 2, true, full / 2},
		"less than half":                     {1, full/2 - 1, true, 0},
		"a fixed lease":                      {1, full, false, full},
		"less than a fixed lease":            {1, full - 1, false, 0},
		"more than the lease that is wanted": {1, 2 * full, true, full},
		"the last token but one":             {Range - 1, full, true, full},
		"the last token":                     {Range, full, true, 0},
		"its validity is over":               {1, 0, true, 0},
	} {
		now := clock.Instant{}.Add(time.Hour)
		k := Kept{Until: now.Add(tt.left), Token: tt.token, Last: Range}
		until, ok := k.Take(now, lease, tt.watched)
		switch {
		case ok != (tt.want > 0):
			t.Errorf("%s: taken over = %v, want %v", name, ok, !ok)
		case ok && (now.Left(until) != tt.want || k.Token != tt.token+1):
			t.Errorf("%s: valid for %v with token %d, want %v and %d", name, now.Left(until), k.Token, tt.want, tt.token+1)
		}
	}
}
