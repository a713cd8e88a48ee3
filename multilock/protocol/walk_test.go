package protocol

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/redlock/clock"
)

// walk leads a contender through what a random fleet does: commands are answered in any order, late
// or never, hand-offs come twice and name any round, and owners that were given up are heard of
// again. A wild one brings what no driver would as well.
type walk struct {
	*rand.Rand
	conf   Config
	c      Contender
	out    Effects
	now    clock.Instant
	ledger ledger
	open   []Event // answers that are to come
	old    []Event // that have come
	wants  reply   // what masters mostly say
	took   map[Arrow]bool
}

func newWalk(seed uint64, took map[Arrow]bool) *walk {
	r := rand.New(rand.NewPCG(seed, 0))
	w := &walk{Rand: r, conf: Config{Masters: 1 + r.IntN(Max), Times: Usual}, took: took}
	w.conf.Grid *= time.Duration(r.IntN(2))
	w.now = clock.Instant{}.Add(time.Duration(r.Int64N(int64(100*time.Hour))) - 50*time.Hour)
	w.c.Want = Want{Lease: []time.Duration{5 * ms, 100 * ms, time.Second, 30 * time.Second}[r.IntN(4)]}
	switch r.IntN(5) {
	case 0:
	case 1:
		w.c.Want.Again = true
	default:
		w.c.Want.Wait = true
	}
	w.ledger.wild = r.IntN(4) == 0
	w.c.Want.Shared = r.IntN(4) == 0
	return w
}

// reply draws what a master says. Mostly all say the same, so that something comes of it.
func (w *walk) reply() reply {
	if w.IntN(20) == 0 {
		w.wants = reply{Outcome: Outcome(w.IntN(int(Yes) + 1)), Holder: Holder(w.IntN(4)), Left: time.Duration(w.Int64N(int64(time.Second)))}
	}
	r := w.wants
	if w.IntN(3) == 0 {
		r.Outcome = []Outcome{Unsent, Unknown, Errored, No, No, Yes, Yes, Yes}[w.IntN(8)]
		r.Holder = Holder(w.IntN(3))
	}
	switch r.Outcome {
	case No:
		r.Ahead = w.IntN(1 + w.IntN(30))
	case Yes:
		r.Token = 1 + int64(w.IntN(1+w.IntN(4)))
	case Errored:
		r.Hopeless = w.IntN(4) == 0
	}
	return r
}

// next draws what happens next.
func (w *walk) next() Event {
	c := &w.c
	if c.State == Idle && w.IntN(10) > 0 {
		switch n := w.IntN(30); {
		case n == 0:
			return Event{Kind: GiveUp}
		case n < 10 && c.Want.Wait:
			return Event{Kind: Enter, At: Set(w.Uint32()) & All(w.conf.Masters)}
		}
		return Event{Kind: Start}
	}
	if w.ledger.wild && w.IntN(10) == 0 {
		kind := Kind(w.IntN(int(GiveUp)))
		if kind == Enter && !c.Want.Wait {
			kind = Start // nothing enters it into a queue
		}
		return Event{
			Kind: kind, Master: w.IntN(w.conf.Masters), Outcome: Outcome(w.IntN(5)), Token: w.Int64N(5),
			Try: c.Try - uint32(w.IntN(2)), Round: c.Round - uint32(w.IntN(10)), At: Set(w.Uint32()) & All(w.conf.Masters),
		}
	}
	if c.State == Paused && w.IntN(20) == 0 {
		return Event{Kind: GiveUp}
	}
	if c.State == Won && w.IntN(4) == 0 {
		return Event{Kind: Take}
	}
	switch n := w.IntN(100); {
	case n < 60 && len(w.open) > 0:
		i := w.IntN(min(len(w.open), 2*w.conf.Masters))
		ev := w.open[i]
		w.open = slices.Delete(w.open, i, i+1)
		r := w.reply()
		ev.Outcome, ev.Holder, ev.Left, ev.Token, ev.Hopeless = r.Outcome, r.Holder, r.Left, r.Token, r.Hopeless
		w.old = append(w.old, ev)
		return ev
	case n < 75 && c.Want.Wait && c.Try > 0:
		// A master hands the lock off only to who stands in its queue.
		if i := w.IntN(w.conf.Masters); w.ledger.owner.claims().Has(i) {
			back := uint32(w.IntN(1 + w.IntN(12)))
			return Event{Kind: HandedOff, Master: i, Try: c.Try, Round: max(c.Round, back) - back, Token: 1 + int64(w.IntN(3))}
		}
	case n < 78 && len(w.old) > 0: // a repeat, but never of an answer to the present owner
		if ev := w.old[w.IntN(len(w.old))]; ev.Try != c.Try {
			return ev
		}
	case n < 80:
		return Event{Kind: Hint, Delay: time.Duration(w.Int64N(int64(20 * ms)))}
	case n == 80 && w.IntN(4) == 0:
		return Event{Kind: GiveUp}
	case n == 81:
		return Event{Kind: Doubt, Master: w.IntN(w.conf.Masters)}
	}
	return Event{Kind: Due}
}

// pass lets time go by: mostly until something is due, sometimes much longer.
func (w *walk) pass(ev *Event) {
	at, ok := w.c.Wake()
	switch n := w.IntN(40); {
	case n < 20:
	case n < 30:
		w.now = w.now.Add(time.Duration(w.Int64N(int64(5 * ms))))
	case n < 39 && ok && ev.Kind == Due:
		w.now = w.now.Add(max(0, w.now.Left(at)))
	case n == 39:
		w.now = w.now.Add(time.Duration(w.Int64N(int64(w.c.Want.Lease))))
	}
}

// step has something happen, and returns what must not be.
func (w *walk) step() (ev Event, wrong []string) {
	ev = w.next()
	w.pass(&ev)
	ev.Trip = time.Duration(w.IntN(3)) * 30 * ms
	ev.Lot = w.Uint32()
	before := w.c
	w.c.Step(&w.conf, w.now, &ev, &w.out)
	wrong = w.ledger.wrongs(&w.conf, &before, &w.c, w.now, &ev, &w.out)
	if before.State != w.c.State {
		w.took[Arrow{From: before.State, To: w.c.State}] = true
	}
	w.send(&ev)
	return ev, wrong
}

// send puts the answers on the way that are to come.
func (w *walk) send(ev *Event) {
	entering := Set(0)
	if w.out.Enter {
		entering = w.out.Release
		if ev.Kind == Enter {
			entering = ev.At
		}
	}
	for i := range w.conf.Masters {
		answer := Event{Master: i, Try: w.c.Try, Round: w.out.Round}
		switch {
		case w.out.Ask.Has(i):
			answer.Kind = Answer
		case entering.Has(i):
			answer.Kind = Entered
		case w.out.Raise.Has(i):
			answer.Kind, answer.Round = Raised, uint32(w.c.Raises)
		default:
			continue
		}
		w.open = append(w.open, answer)
	}
}

// Whatever happens, and in whatever order, each step is right, and every arrow is taken by some
// walk: one that nobody can take is none.
//
// Replay one seed: go test ./multilock/protocol -run 'TestWalk/seed=17$' -v
func TestWalk(t *testing.T) {
	took := map[Arrow]bool{}
	for seed := range uint64(2000) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			w := newWalk(seed, took)
			for n := range 300 {
				ev, wrong := w.step()
				if len(wrong) > 0 {
					t.Fatalf("step %d, %+v: %q", n, ev, wrong)
				}
				if wrong := w.idles(); wrong != "" {
					t.Fatalf("step %d, %+v: %s", n, ev, wrong)
				}
				if w.c.Over() && w.IntN(5) == 0 {
					break
				}
			}
		})
	}
	if t.Failed() {
		return
	}
	for _, a := range Arrows {
		if !took[Arrow{From: a.From, To: a.To}] {
			t.Errorf("no walk went from %v to %v (%s)", a.From, a.To, a.Why)
		}
	}
}

// idles says what is wrong if the contender is to be looked after again and again at one instant.
func (w *walk) idles() string {
	c, out, led := w.c, Effects{}, Event{Kind: Due}
	for range 3 {
		at, ok := c.Wake()
		if !ok || w.now.Left(at) > 0 {
			return ""
		}
		c.Step(&w.conf, w.now, &led, &out)
	}
	return fmt.Sprintf("%v is due again and again at one instant", c.State)
}
