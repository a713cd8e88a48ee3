package node

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/check"
)

// timedSample is a sample as a test makes it: when its question was sent, by our clock, how
// long it was under way there and back, and how far the master's clock was ahead then.
type timedSample struct{ at, there, back, ahead time.Duration }

var (
	here  = clock.Now()
	there = time.Unix(1_700_000_000, 0)
)

func (c timedSample) sample() sample {
	return sample{
		sent: here.Add(c.at),
		read: here.Add(c.at + c.there + c.back),
		told: there.Add(c.at + c.there + c.ahead),
	}
}

// TestClockCheckOfOneSample: what one sample says of the one before it, to the nanosecond.
func TestClockCheckOfOneSample(t *testing.T) {
	const recovery = time.Minute
	first := timedSample{at: 0}
	for _, tt := range []struct {
		name  string
		first timedSample
		next  timedSample
		want  verdict
	}{
		{"keeps pace", first, timedSample{at: time.Second}, unchanged},
		{"gains what is allowed", first, timedSample{at: time.Second, ahead: 12 * time.Millisecond}, unchanged},
		{"gains more", first, timedSample{at: time.Second, ahead: 12*time.Millisecond + 1}, ranAhead},
		{"gains what is allowed in an hour", first, timedSample{at: time.Hour, ahead: clock.Drift(time.Hour)}, unchanged},
		{"gains more in an hour", first, timedSample{at: time.Hour, ahead: clock.Drift(time.Hour) + 1}, ranAhead},
		{"at once", first, timedSample{ahead: 2*time.Millisecond + 1}, ranAhead},
		{"loses what is allowed", first, timedSample{at: time.Second, ahead: -12 * time.Millisecond}, unchanged},
		{"loses more", first, timedSample{at: time.Second, ahead: -12*time.Millisecond - 1}, fellBehind},
		{"slow there", first, timedSample{at: time.Second, there: time.Second, ahead: 22 * time.Millisecond}, unchanged},
		{"may be slow back", first, timedSample{at: time.Second, back: 5 * time.Millisecond, ahead: 17 * time.Millisecond}, unchanged},
		{"is not slow back", first, timedSample{at: time.Second, back: 5 * time.Millisecond, ahead: 17*time.Millisecond + 51*time.Microsecond}, ranAhead},
		{"first was slow there", timedSample{there: 5 * time.Millisecond}, timedSample{at: time.Second, ahead: 17 * time.Millisecond}, unchanged},
		{"we stood still", first, timedSample{at: time.Second, back: time.Hour}, unchanged},
		{"it stood still", first, timedSample{at: time.Second, there: time.Hour}, unchanged},
		{"we were suspended in between", first, timedSample{at: 10 * time.Hour}, unchanged},
		{"we were suspended meanwhile", timedSample{back: 10 * time.Hour}, timedSample{at: 10 * time.Hour}, unchanged},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var p clockCheck
			if got, _ := p.add(tt.first.sample(), recovery); got != unchanged || p.unsteady() {
				t.Fatalf("the first sample: got %v, want %v", got, unchanged)
			}
			if got, _ := p.add(tt.next.sample(), recovery); got != tt.want || p.unsteady() != (tt.want == ranAhead) {
				t.Errorf("got %v, unsteady %v, want %v", got, p.unsteady(), tt.want)
			}
		})
	}
}

// A master that tells of the year 2242 now and then has run ahead by more than can be counted, and is no steadier for it.
func TestClockCheckOfWildTimes(t *testing.T) {
	var p clockCheck
	for i, told := range []int64{1, 1 << 33, 1, 1 << 33} {
		now := here.Add(time.Duration(i) * time.Second)
		p.add(sample{sent: now, read: now, told: time.Unix(told, 0)}, time.Minute)
		check.Equal(t, p.unsteady(), i > 0, "sample %d: unsteady", i+1)
	}
}

// allPairs compares each sample with all since the last gain that was found.
type allPairs struct{ seen []sample }

func (d *allPairs) gains(s sample) bool {
	for _, u := range d.seen {
		between := s.read.Sub(u.sent)
		if s.told.Sub(u.told)-between > clock.Drift(between) {
			d.seen = []sample{s}
			return true
		}
	}
	d.seen = append(d.seen, s)
	return false
}

// TestClockCheckComparesAllSamples: one sample that is kept finds what all of them would.
//
// Replay one seed: go test ./node -run 'TestClockCheckComparesAllSamples/seed=17$'
func TestClockCheckComparesAllSamples(t *testing.T) {
	found := 0
	for seed := range uint64(500) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 0))
			upTo := func(d time.Duration) time.Duration { return time.Duration(random.Int64N(int64(d) + 1)) }
			var p clockCheck
			var d allPairs
			var c timedSample
			rate := upTo(2000) - 1000 // µs in 50 ms: 2 % at most
			for i := range 200 {
				pass := c.back + upTo(2*time.Second)
				c.at += c.there + pass
				c.ahead += rate * time.Microsecond * (c.there + pass) / (50 * time.Millisecond)
				if random.IntN(30) == 0 {
					c.ahead += upTo(100*time.Millisecond) - 50*time.Millisecond
				}
				c.there, c.back = upTo(5*time.Millisecond), upTo(5*time.Millisecond)
				if random.IntN(20) == 0 {
					c.there, c.back = upTo(time.Second), upTo(time.Second)
				}
				before := p.ahead
				p.add(c.sample(), time.Hour)
				if got, want := p.ahead > before, d.gains(c.sample()); got != want {
					t.Fatalf("sample %d: gain found %v, want %v", i, got, want)
				}
				if p.ahead > before {
					found++
				}
			}
		})
	}
	check.That(t, found >= 500, "gains found: got %d, want some for most seeds", found)
}

func TestTimeOf(t *testing.T) {
	b := func(s string) []byte { return []byte(s) }
	for _, tt := range []struct {
		name  string
		reply any
		want  time.Time
	}{
		{"as Redis writes it", []any{b("1700000000"), b("42")}, time.Unix(1_700_000_000, 42_000)},
		{"nothing", nil, time.Time{}},
		{"refused", errors.New("NOPERM"), time.Time{}},
		{"one", []any{b("1")}, time.Time{}},
		{"no number", []any{b("1"), b("x")}, time.Time{}},
		{"no number either", []any{b("x"), b("1")}, time.Time{}},
		{"out of all bounds", []any{b("9223372036854775807"), b("1")}, time.Time{}},
		{"before time", []any{b("-9223372036854775807"), b("1")}, time.Time{}},
		{"too many microseconds", []any{b("1"), b("1000000")}, time.Time{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := timeOf(tt.reply)
			check.That(t, got.Equal(tt.want) && ok != tt.want.IsZero(), "timeOf: got %v, %v, want %v", got, ok, tt.want)
		})
	}
}
