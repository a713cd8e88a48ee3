package terms

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/check"
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
	uses    []use
	changed time.Duration // it forgot what it knew, or its clock jumped
}

// use is what a client has published.
type use struct {
	by, text string
	terms    *Terms
	ends     time.Duration
}

// member is a client, as package clients drives it.
type member struct {
	Standing
	name    string
	list    []int
	runs    map[int]int // that it knows
	stopped time.Duration
	gone    bool          // killed, or closed
	sent    time.Duration // when it published its terms last; it has taken back what it published before a negative one
	holds   time.Duration // what it has taken ends then
	renews  bool          // that
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
	case c.gone:
	case c.stopped > w.now:
		w.after(c.stopped-w.now, func() { w.run(c, do) })
	default:
		do()
	}
}

func (w *walk) upTo(d time.Duration) time.Duration { return time.Duration(w.Int64N(int64(d))) }

func (w *walk) own(c *member) *Terms {
	t := &Terms{Lease: c.Lease.Milliseconds()}
	for _, i := range c.list {
		m := w.masters[i]
		t.Masters = append(t.Masters, Master{Run: fmt.Sprint(i, ".", c.runs[i]), Address: fmt.Sprint(i), Young: w.now-m.began < 80*time.Second})
	}
	return t
}

// tell publishes own at the masters of c, for life. With none it looks, and takes back what by published.
func (w *walk) tell(c *member, by string, life time.Duration, own *Terms, alone bool, answered func(i int, v View)) {
	asked, text := w.instant(), own.Text()
	if c.sent = w.now; life == 0 {
		c.sent = -time.Hour
	}
	for k, i := range c.list {
		m := w.masters[i]
		sent := w.now + m.ahead
		late := func() time.Duration {
			if m.slow {
				return w.upTo(3 * time.Second)
			}
			return w.upTo(40 * time.Millisecond)
		}
		w.after(late(), func() {
			now := w.now + m.ahead
			m.uses = slices.DeleteFunc(m.uses, func(u use) bool { return u.by == by && !alone || u.ends <= now || u.ends > now+2*time.Minute })
			v := View{Master: Master{Run: fmt.Sprint(i, ".", m.run)}, At: asked}
			for _, u := range m.uses {
				if u.text != text {
					v.Uses = append(v.Uses, script.Use{Terms: u.terms, Text: u.text, By: u.by})
				}
			}
			if life > 0 && !(alone && len(v.Uses) > 0) {
				m.uses = append(m.uses, use{by, text, own, min(now, sent+2*time.Second) + life})
			}
			w.after(late(), func() { w.run(c, func() { answered(k, v) }) })
		})
	}
}

// ask is a caller of c that wants a lock.
func (w *walk) ask(c *member) {
	w.after(w.upTo(2*time.Second), func() { w.run(c, func() { w.ask(c) }) })
	if do := c.First(w.instant()); !c.busy && do != Ended {
		c.busy = true
		w.step(c, do)
	}
}

func (w *walk) step(c *member, did Do) {
	own, by, life := w.own(c), c.name, Life(c.Lease)
	r := &Step{Of: len(c.list), Sent: w.instant(), Pause: 100*time.Millisecond + w.upTo(900*time.Millisecond)}
	views, over := make([]View, len(c.list)), false
	end := func() {
		if over {
			return
		}
		over, r.Now = true, w.instant()
		r.Refused = len(Rivals(own, views, r.Now)) > 0
		free := c.holds <= w.now && c.Free(r.Now)
		if do := c.Heard(r); do != Ended {
			w.step(c, do)
			return
		}
		switch {
		case c.Established(r.Now):
			w.established(c)
		case r.Refused && free:
			w.tell(c, by, 0, own, false, func(int, View) {})
		}
		c.busy = false
	}
	w.tell(c, by, life, own, did == Join, func(i int, v View) {
		if views[i] = v; over {
			return
		}
		r.Again = r.Again || did == Join && len(v.Uses) > 0
		if r.Told++; r.Told == len(c.list) {
			end()
		} else if r.Told == len(c.list)/2+1 {
			w.after(100*time.Millisecond, func() { w.run(c, end) })
		}
	})
}

func (w *walk) publish(c *member) {
	sent := w.instant()
	w.tell(c, c.name, Life(c.Lease), w.own(c), false, func(i int, _ View) { c.Kept(i, sent, w.instant()) })
}

// beat is the regular publication of c.
func (w *walk) beat(c *member) {
	silence := min(max(c.Lease, time.Second), 18*time.Second)
	w.after(silence*2/3+w.upTo(silence/3), func() { w.run(c, func() { w.beat(c) }) })
	if c.Seen(w.instant(), c.holds > w.now) && !c.busy {
		w.publish(c)
	}
}

// join makes a client of masters in list.
func (w *walk) join(list []int) {
	leases := []time.Duration{3 * time.Second, 30 * time.Second, 2 * time.Minute}
	c := &member{name: fmt.Sprint("c", len(w.clients)), list: list, runs: map[int]int{}, Standing: Standing{Lease: leases[w.IntN(3)]}, renews: w.IntN(2) == 0}
	for _, i := range list {
		c.runs[i] = w.masters[i].run
	}
	w.clients = append(w.clients, c)
	w.ask(c)
	w.beat(c)
}

// leave ends c: it is killed, or closed, which takes back what it published.
func (w *walk) leave(c *member, closed bool) {
	w.took(c)
	if c.gone = true; closed {
		c.holds = 0
		w.tell(c, c.name, 0, w.own(c), false, nil)
	}
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

// took notes that c may have taken a lock just now, or renewed what it has.
func (w *walk) took(c *member) {
	if !c.gone && c.stopped <= w.now && (c.Established(w.instant()) || c.renews && c.holds > w.now) {
		c.holds = w.now + c.Lease
	}
}

// established is called when c is. It shares no master with another that has, or may have, a lock, and conflicts
// with it, unless that master answers late, or has forgotten lately what it knew.
func (w *walk) established(c *member) {
	for _, o := range w.clients {
		w.took(o)
		knows := func(i int) bool {
			m := w.masters[i]
			return slices.Contains(o.list, i) && !m.slow && (m.changed == 0 || w.now-m.changed > script.RecordLife)
		}
		outlived := o.Lease > longest && (o.gone || w.now-o.stopped < 20*time.Second) // its entry by what it has, as documented
		if conflict(c, o) && o.holds > w.now && !outlived && slices.ContainsFunc(c.list, knows) {
			w.t.Fatalf("at %v %s of %v is established, and %s of %v may have a lock", w.now, c.name, c.list, o.name, o.list)
		}
	}
}

// check wants a client not to be refused for 5 s if no other that conflicts with it runs, or was killed so that
// others must count with it.
func (w *walk) check() {
	w.after(200*time.Millisecond, w.check)
	for _, c := range w.clients {
		w.took(c)
		alone := !slices.ContainsFunc(w.clients, func(o *member) bool {
			return conflict(c, o) && (!o.gone || w.now < o.sent+Life(o.Lease))
		})
		switch {
		case !alone || c.gone || c.stopped > w.now || c.Established(w.instant()):
			c.refused = 0
		case c.refused == 0:
			c.refused = w.now
		case w.now-c.refused > 5*time.Second && !slices.ContainsFunc(c.list, func(i int) bool {
			m := w.masters[i]
			return m.slow || m.changed > 0 && w.now-m.changed < 2*script.RecordLife
		}):
			w.t.Fatalf("at %v %s of %v has been refused for 5 s", w.now, c.name, c.list)
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
				case n < 8:
					w.leave(c, n == 5)
				case n < 10:
					w.took(c)
					c.stopped = max(c.stopped, w.now+w.upTo(2*time.Minute))
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

// TestTermIsThatOfAMajority: a client is established for a term from when the third of four masters was sent what it
// kept last, whichever that is, and however far apart they are. An answer to what was sent before says nothing new. What it
// took at the end of its term lasts for a lease.
func TestTermIsThatOfAMajority(t *testing.T) {
	const lease, apart = 15 * time.Second, 4 * time.Second
	begin := clock.Now()
	for _, order := range [][]int{{0, 1, 2, 3}, {1, 3, 2, 0}, {3, 2, 1, 0}, {2, 0, 3, 1}} {
		s := Standing{Lease: lease}
		s.Heard(&Step{Sent: begin, Now: begin, Told: 4, Of: 4})
		for i, k := range order {
			s.Kept(i, begin.Add(time.Duration(k)*apart), begin.Add(3*apart))
		}
		for i := range order {
			s.Kept(i, begin, begin.Add(3*apart))
		}
		end := begin.Add(apart + Term(lease))
		check.Equal(t, s.Until().Sub(end), 0, "%v: established for", order)
		check.That(t, !s.Lapsed(end.Add(-1)) && s.Lapsed(end), "%v: lapsed before its term ends, or not then", order)
		check.That(t, !s.Free(end.Add(lease-1)) && s.Free(end.Add(lease)), "%v: free before its last lease ends, or not then", order)
	}
}
