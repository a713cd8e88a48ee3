package terms

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// walk is a random life of clients that come with several lists, stop, die and come again, while masters
// restart empty, answer late, and have clocks that differ and jump.
type walk struct {
	*rand.Rand
	t       *testing.T
	now     time.Duration
	due     []event
	masters [5]*server
	clients []*member
}

type event struct {
	at time.Duration
	do func()
}

// server is a master: the twin of uses.lua.
type server struct {
	run     int
	began   time.Duration
	ahead   time.Duration // its clock
	slow    bool
	lines   []line
	changed time.Duration // it forgot what it knew, or its clock jumped
}

type line struct {
	state, by, text string
	terms           *Terms
	last            time.Duration
}

// member is a client, as package clients drives it.
type member struct {
	*Standing
	list    []int
	runs    map[int]int // that it knows
	stopped time.Duration
	dead    bool
	died    time.Duration
	kept    map[int]string
	busy    bool
	refused time.Duration // since when; 0: it is not
}

func (w *walk) instant() clock.Instant { return clock.Instant{}.Add(w.now) }

func (w *walk) after(d time.Duration, do func()) {
	at := w.now + d
	k, _ := slices.BinarySearchFunc(w.due, at+1, func(e event, at time.Duration) int { return cmp.Compare(e.at, at) })
	w.due = slices.Insert(w.due, k, event{at, do})
}

// run has do happen at c, once it runs again.
func (w *walk) run(c *member, do func()) {
	switch {
	case c.dead:
	case c.stopped > w.now:
		w.after(c.stopped-w.now, func() { w.run(c, do) })
	default:
		do()
	}
}

func (w *walk) upTo(d time.Duration) time.Duration { return time.Duration(w.Int64N(int64(d))) }

func (w *walk) own(c *member) *Terms {
	t := &Terms{}
	for _, i := range c.list {
		m := w.masters[i]
		t.Masters = append(t.Masters, Master{Run: fmt.Sprint(i, ".", c.runs[i]), Seat: fmt.Sprint(i), Young: w.now-m.began < 80*time.Second})
	}
	return t
}

// tell sends a publication, or a look, to the masters of c.
func (w *walk) tell(c *member, state string, own *Terms, answered func(i int, v View)) {
	asked, text := w.instant(), own.Text()
	for k, i := range c.list {
		m, former := w.masters[i], c.kept[i]
		late := func() time.Duration {
			if m.slow {
				return w.upTo(3 * time.Second)
			}
			return w.upTo(40 * time.Millisecond)
		}
		w.after(late(), func() {
			now := w.now + m.ahead
			m.lines = slices.DeleteFunc(m.lines, func(l line) bool {
				lives := life
				if l.state == script.Candidate {
					lives = moment
				}
				replaced := l.by == c.By && (l.state == script.Candidate || state == "w") || state == script.Established && l.state == state && (l.text == text || l.text == former)
				return now-l.last > lives || state != "" && replaced
			})
			if state == script.Established || state == script.Candidate {
				m.lines = append(m.lines, line{state, c.By, text, own, now})
			}
			v := View{Told: true, Master: Master{Run: fmt.Sprint(i, ".", m.run)}, At: asked}
			for _, l := range m.lines {
				v.Uses = append(v.Uses, script.Use{Terms: l.terms, Text: l.text, State: l.state, By: l.by, Age: max(0, now-l.last).Milliseconds()})
			}
			w.after(late(), func() { w.run(c, func() { answered(k, v) }) })
		})
	}
}

// ask is a caller of c that wants a lock.
func (w *walk) ask(c *member) {
	w.after(w.upTo(2*time.Second), func() { w.run(c, func() { w.ask(c) }) })
	if c.busy || c.Ask(w.instant()) != Look {
		return
	}
	c.busy = true
	w.round(c, Look)
}

func (w *walk) round(c *member, did Do) {
	own := w.own(c)
	r := &Round{Did: did, Sent: w.instant(), Own: own, Text: own.Text(), Views: make([]View, len(c.list)), Back: 100*time.Millisecond + w.upTo(400*time.Millisecond)}
	told, over := 0, false
	end := func() {
		if over {
			return
		}
		over, r.Now = true, w.instant()
		switch do := c.Heard(r); do {
		case Apply:
			w.round(c, Apply)
			return
		case Settle:
			w.established(c)
			w.publish(c)
		case Withdraw:
			w.tell(c, "w", own, func(int, View) {})
		}
		c.busy = false
	}
	state := ""
	if did == Apply {
		state = script.Candidate
	} else if len(c.kept) > 0 {
		state = "w" // as it was cut off
	}
	w.tell(c, state, own, func(i int, v View) {
		if r.Views[i] = v; over {
			return
		}
		if told++; told == len(c.list) {
			end()
		} else if told == len(c.list)/2+1 {
			w.after(100*time.Millisecond, func() { w.run(c, end) })
		}
	})
}

func (w *walk) publish(c *member) {
	sent, own := w.instant(), w.own(c)
	w.tell(c, script.Established, own, func(i int, v View) {
		c.kept[c.list[i]] = own.Text()
		c.Kept(i, sent, w.instant())
	})
}

// beat is the regular publication of c.
func (w *walk) beat(c *member) {
	w.after(12*time.Second+w.upTo(6*time.Second), func() { w.run(c, func() { w.beat(c) }) })
	if c.Established(w.instant()) {
		w.publish(c)
	}
}

// join makes a client of masters in list.
func (w *walk) join(list []int) {
	c := &member{Standing: &Standing{By: fmt.Sprint("c", len(w.clients))}, list: list, runs: map[int]int{}, kept: map[int]string{}}
	for _, i := range list {
		c.runs[i] = w.masters[i].run
	}
	w.clients = append(w.clients, c)
	w.ask(c)
	w.beat(c)
}

func (w *walk) restart(m *server, i int) {
	*m = server{run: m.run + 1, began: w.now, ahead: m.ahead, slow: m.slow, changed: w.now}
	for _, c := range w.clients {
		w.after(50*time.Millisecond+w.upTo(1500*time.Millisecond), func() {
			w.run(c, func() {
				if c.runs[i] = m.run; c.Established(w.instant()) {
					w.publish(c)
				}
			})
		})
	}
}

// lists are those that clients have: neighbours go together, others do not.
var lists = [][]int{{0, 1, 2}, {0, 1, 2, 3}, {1, 2, 3}, {0, 1}, {0, 1, 3}, {0, 1, 2, 3, 4}, {2, 3, 4}}

func conflict(a, b *member) bool {
	n := 0
	for _, i := range a.list {
		if slices.Contains(b.list, i) {
			n++
		}
	}
	return (len(a.list)/2+1)+(len(b.list)/2+1) <= len(a.list)+len(b.list)-n
}

// established is called when c is. It shares no master with another that runs and conflicts with it, unless that
// answers late, or has forgotten lately what it knew.
func (w *walk) established(c *member) {
	for _, o := range w.clients {
		knows := func(i int) bool {
			m := w.masters[i]
			return slices.Contains(o.list, i) && !m.slow && (m.changed == 0 || w.now-m.changed > life)
		}
		if conflict(c, o) && w.runs(c) && w.runs(o) && slices.ContainsFunc(c.list, knows) {
			w.t.Fatalf("at %v %s of %v and %s of %v are both established", w.now, c.By, c.list, o.By, o.list)
		}
	}
}

func (w *walk) runs(c *member) bool {
	return !c.dead && c.stopped <= w.now && c.Established(w.instant())
}

// check wants a client not to be refused for 5 s if for a life there was none that conflicts with it.
func (w *walk) check() {
	w.after(200*time.Millisecond, w.check)
	for _, c := range w.clients {
		alone := !slices.ContainsFunc(w.clients, func(o *member) bool {
			return conflict(c, o) && (!o.dead || w.now-o.died < life+10*time.Second)
		})
		switch {
		case !alone || c.dead || c.stopped > w.now || c.Established(w.instant()):
			c.refused = 0
		case c.refused == 0:
			c.refused = w.now
		case w.now-c.refused > 5*time.Second && !slices.ContainsFunc(c.list, func(i int) bool {
			m := w.masters[i]
			return m.slow || m.changed > 0 && w.now-m.changed < 2*life
		}):
			w.t.Fatalf("at %v %s of %v has been refused for 5 s, by %+v", w.now, c.By, c.list, c.Rival())
		}
	}
}

// TestStandingLong: whatever happens, of clients that conflict one list is established, and others are not
// refused. Replay one walk: go test ./multilock/terms -run 'TestStandingLong/17$'
func TestStandingLong(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			w := &walk{Rand: rand.New(rand.NewPCG(seed, 0)), t: t}
			for i := range w.masters {
				w.masters[i] = &server{began: -time.Hour, ahead: w.upTo(10*time.Second) - 5*time.Second, slow: w.IntN(8) == 0}
			}
			var fault func()
			fault = func() {
				w.after(w.upTo(20*time.Second), fault)
				i := w.IntN(len(w.masters))
				var c *member
				if len(w.clients) > 0 {
					c = w.clients[w.IntN(len(w.clients))]
				}
				switch n := w.IntN(12); {
				case n < 5 && len(w.clients) < 60 || c == nil:
					w.join(lists[w.IntN(len(lists))])
				case n < 8 && !c.dead:
					c.dead, c.died = true, w.now
				case n < 10:
					c.stopped = w.now + w.upTo(2*time.Minute)
				case n < 11:
					w.restart(w.masters[i], i)
				default:
					w.masters[i].ahead, w.masters[i].changed = w.upTo(2*time.Minute)-time.Minute, w.now
				}
			}
			fault()
			w.check()
			for w.now < 10*time.Minute {
				next := w.due[0]
				w.due, w.now = w.due[1:], next.at
				next.do()
			}
		})
	}
}
