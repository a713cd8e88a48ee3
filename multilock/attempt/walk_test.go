package attempt

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/quorum"
)

// walk leads an attempt through what a random fleet of masters does, and keeps a deliberately simple account of it: what
// was sent and not answered, what may be left where, and until when each master stands by a vote.
type walk struct {
	*rand.Rand
	Attempt
	conf  Config
	now   clock.Instant
	open  []Event // answers that are to come
	sent  map[uint32]Round
	left  Set // masters where something of the present owner may be
	votes [Max]clock.Instant
	took  map[Arrow]bool
}

func newWalk(seed uint64, took map[Arrow]bool) *walk {
	r := rand.New(rand.NewPCG(seed, 0))
	w := &walk{Rand: r, conf: Config{Masters: 1 + r.IntN(Max), Keep: time.Second, Times: Usual}, sent: map[uint32]Round{}, took: took}
	w.Masters, w.Rounds = make([]Master, w.conf.Masters), make([]Round, 2+seed%2*(MaxRounds-2))
	w.now = clock.Instant{}.Add(time.Duration(r.Int64N(int64(100*time.Hour))) - 50*time.Hour)
	w.Want = Want{
		Lease: []time.Duration{5, 100, 1000, 30000}[r.IntN(4)] * time.Millisecond,
		Wait:  r.IntN(3) > 0, Shared: r.IntN(4) == 0, Keep: r.IntN(3) == 0,
	}
	return w
}

// next draws what happens next.
func (w *walk) next() Event {
	ev := Event{Try: w.Try, Trip: time.Duration(w.IntN(3)) * 30 * time.Millisecond, Lot: w.Uint32(), Told: w.IntN(8) > 0}
	ev.Wish = Wish{Watched: w.IntN(2) == 0, Lease: w.Want.Lease, For: time.Duration(w.IntN(2)) * time.Minute}
	ev.Key = w.IntN(3)
	switch n := w.IntN(100); {
	case w.State == Idle:
		ev.Follow = w.Want.Wait && w.IntN(4) == 0
		if ev.Kind = Start; n == 0 {
			ev.Kind = []Kind{Leave, End}[w.IntN(2)]
		}
	case n < 60 && len(w.open) > 0:
		i := w.IntN(min(len(w.open), 2*w.conf.Masters))
		answer := w.open[i]
		w.open = slices.Delete(w.open, i, i+1)
		ev.Kind, ev.Master, ev.Try, ev.Round = Answer, answer.Master, answer.Try, answer.Round
		ev.Outcome = []Outcome{Unsent, Unknown, Errored, No, No, Yes, Yes, Yes, Yes, Yes}[w.IntN(10)]
		ev.Token = 1 + w.Int64N(3)/2
		if w.sent[ev.Round].Command == Follow && ev.Try == w.Try {
			ev.Kind = Followed
		}
		if ev.Outcome == No {
			ev.Holder, ev.Left, ev.Ahead = Holder(w.IntN(3)), time.Duration(w.Int64N(int64(time.Second))), w.IntN(9)
		}
	case n < 70 && w.Try > 0:
		ev.Kind, ev.Master, ev.Token = HandedOff, w.IntN(w.conf.Masters), 1
		ev.Round = max(w.Round, 2) - uint32(w.IntN(2))
		if !w.Want.Wait || !w.Claimed().Has(ev.Master) {
			ev.Kind = Due
		}
	case n < 74:
		ev.Kind = []Kind{Hint, Doubt, Wanted, Downgrade, Lose, End}[w.IntN(6)]
		ev.Delay, ev.Master = time.Duration(w.Int64N(int64(20*time.Millisecond))), w.IntN(w.conf.Masters)
	case n < 82:
		ev.Kind, ev.Keep, ev.Shared = []Kind{Enter, Enter, Leave}[w.IntN(3)], true, w.Want.Shared
		if ev.Kind == Enter && w.Find(ev.Key) >= 0 {
			ev.Kind = Due
		}
	case n < 88:
		ev.Kind = Renew
		if w.IntN(2) == 0 {
			ev.Lease = time.Second
		}
	default:
		ev.Kind = Due
		if at, ok := w.Wake(); ok && w.IntN(2) == 0 {
			w.now = w.now.Add(max(0, w.now.Left(at)))
		}
	}
	if w.IntN(10) == 0 {
		w.now = w.now.Add(time.Duration(w.Int64N(int64(50 * time.Millisecond))))
	}
	return ev
}

// step has something happen, and returns what must not be.
func (w *walk) step(ev *Event, out *Effects) (wrong string) {
	before := w.State
	beforeUntil, beforeTry := w.Until, w.Try
	i := ev.Master
	if ev.Kind == Answer && ev.Try == w.Try {
		r := w.sent[ev.Round]
		asks := r.Command == Ask || r.Command == Register
		if ev.Outcome == Unknown || ev.Outcome == Errored || ev.Outcome == Yes || ev.Outcome == No && asks && w.Want.Wait {
			w.left |= 1 << i
		}
		if lease := r.Lease; ev.Outcome == Yes && r.Command != Register && r.Command != Raise && r.Command != Release {
			if r.Command == Ask {
				lease = w.Want.Lease
			}
			w.vote(i, r.Sent.Add(clock.Validity(lease, 0)))
		}
	}
	if ev.Kind == Followed && ev.Outcome != Unsent {
		w.left |= 1 << i
	}
	if ev.Kind == HandedOff && ev.Try == w.Try {
		w.left |= 1 << i
		if r := w.sent[ev.Round]; r.Number > 0 {
			w.vote(i, r.Sent.Add(clock.Validity(r.Lease, 0)))
		}
	}
	w.Step(&w.conf, w.now, ev, out)
	if before != w.State {
		w.took[Arrow{From: before, To: w.State}] = true
	}
	owed := w.left
	for _, answer := range w.open {
		if answer.Try == beforeTry {
			owed |= 1 << answer.Master
		}
	}
	last := out.Round.Command == Release && out.Send != 0
	switch {
	case before == Ended && w.State != Ended:
		return "it came back"
	case (w.State == Held || w.State == Kept) && w.now.Left(w.Until) <= 0:
		return "it is held, and its validity is over"
	case (w.State == Held || w.State == Kept) && w.now.Left(w.Until) > w.majority():
		return fmt.Sprintf("it is held for %v, and a majority stands by it for %v", w.now.Left(w.Until), w.majority())
	case before == Held && w.State == Held && w.Until.Sub(beforeUntil) < 0:
		return "its validity was cut"
	case before != Ended && w.State == Ended && (owed&^out.Send != 0 || owed != 0 && !last):
		return fmt.Sprintf("a release at %b, and there may be something at %b", out.Send, owed)
	case out.NewOwner && owed&^(out.Release|out.Yield) != 0:
		return fmt.Sprintf("a release at %b, and there may be something at %b", out.Release|out.Yield, owed)
	case !out.NewOwner && out.Release|out.Yield != 0, w.Try != beforeTry && beforeTry > 0 && !out.NewOwner:
		return fmt.Sprintf("owner %d after %d, and %+v", w.Try, beforeTry, *out)
	case !slices.ContainsFunc(Arrows, func(a Arrow) bool { return before == w.State || a.From == before && a.To == w.State }):
		return fmt.Sprintf("%v became %v: no arrow says so", before, w.State)
	}
	if out.NewOwner {
		w.left, w.votes = 0, [Max]clock.Instant{}
	}
	if out.Send != 0 {
		w.sent[out.Round.Number] = out.Round
		for i := range w.conf.Masters {
			if out.Send.Has(i) {
				w.open = append(w.open, Event{Master: i, Try: w.Try, Round: out.Round.Number})
			}
		}
	}
	return ""
}

// vote notes a vote: of each master the one that is valid for longest.
func (w *walk) vote(i int, until clock.Instant) {
	if w.votes[i] == (clock.Instant{}) || until.Sub(w.votes[i]) > 0 {
		w.votes[i] = until
	}
}

// majority returns for how long a majority stands by its votes.
func (w *walk) majority() time.Duration {
	var left []time.Duration
	for i := range w.conf.Masters {
		d := time.Duration(0)
		if w.votes[i] != (clock.Instant{}) {
			d = w.now.Left(w.votes[i])
		}
		left = append(left, d)
	}
	slices.Sort(left)
	return left[len(left)-quorum.Majority(len(left))]
}

// Whatever happens, and in whatever order, each step is right, and every arrow is taken by some walk.
//
// Replay one seed: go test ./multilock/attempt -run 'TestWalk/seed=17$'
func TestWalk(t *testing.T) {
	took := map[Arrow]bool{}
	for seed := range uint64(2000) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := newWalk(seed, took)
			var out Effects
			for n := range 300 {
				ev := w.next()
				if wrong := w.step(&ev, &out); wrong != "" {
					t.Fatalf("step %d, %+v: %s", n, ev, wrong)
				}
				if w.State == Ended && w.IntN(5) == 0 {
					break
				}
			}
		})
	}
	for _, a := range Arrows {
		if !t.Failed() && !took[Arrow{From: a.From, To: a.To}] {
			t.Errorf("no walk went from %v to %v (%s)", a.From, a.To, a.Why)
		}
	}
}

// No step allocates: those of some walks are taken once more, with room for their entries.
func TestStepsDoNotAllocate(t *testing.T) {
	type step struct {
		now clock.Instant
		ev  Event
	}
	for seed := range uint64(50) {
		w := newWalk(seed, map[Arrow]bool{})
		want, conf := w.Want, w.conf
		var out Effects
		var steps []step
		for range 200 {
			ev := w.next()
			steps = append(steps, step{w.now, ev})
			w.step(&ev, &out)
		}
		room, masters := make([]Entry, 0, 300), make([]Master, conf.Masters)
		rounds := make([]Round, MaxRounds)
		if got := testing.AllocsPerRun(1, func() {
			clear(masters)
			clear(rounds)
			c := Attempt{Want: want, Entries: room, Masters: masters, Rounds: rounds}
			for i := range steps {
				c.Step(&conf, steps[i].now, &steps[i].ev, &out)
			}
		}); got != 0 {
			t.Errorf("seed %d: %v allocations in %d steps, want none", seed, got, len(steps))
		}
	}
}
