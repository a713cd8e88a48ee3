package picture

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/redlock/internal/history"
)

// synthetic makes up a history like that of a chaos trial: five clients of four callers each fight over
// a few names while masters and clients suffer, and two violations. It shows what a page has to cope with,
// and says nothing of the library.
func synthetic(t *testing.T, seed uint64, long time.Duration) (*history.History, []history.Violation) {
	t.Helper()
	w := &world{rand: rand.New(rand.NewPCG(seed, 1)), long: long, keys: map[string]*resource{}}
	run := history.Run{
		Title: fmt.Sprintf("chaos, seed %d, %v", seed, long), Seed: seed, Began: time.Unix(1700000000, 0).UTC(), Locker: "redlock",
		Masters: []string{"m1", "m2", "m3", "m4", "m5"}, Lease: 2 * time.Second, MaxLease: 3 * time.Second, Guard: 3 * time.Second,
		Replay: fmt.Sprintf("make soak SEED=%d MINUTES=%d", seed, int(long.Minutes())),
	}
	w.events = append(w.events, history.Event{What: history.RunBegan, Run: &run})
	for i := range 5 {
		w.start(fmt.Sprintf("c%d", i+1))
	}
	w.nemesis()
	for len(w.queue) > 0 {
		next := heap.Pop(&w.queue).(todo)
		w.now = next.at
		next.do()
	}
	w.add(history.Event{At: long - time.Second, What: history.Over})
	w.add(history.Event{At: long, What: history.Calm})
	h, err := history.Merge(w.events)
	if err != nil {
		t.Fatal(err)
	}
	return h, w.violations
}

type world struct {
	rand       *rand.Rand
	long, now  time.Duration
	queue      todos
	seq        int
	events     []history.Event
	keys       map[string]*resource
	token      int64
	faults     int
	clients    []*process
	violations []history.Violation
}

// process is a client; busy are the callers that it has.
type process struct {
	who          string
	calls, holds int
	dead         bool
	awake        time.Duration // it is stopped until then
}

// resource is a name, or all slots of a semaphore.
type resource struct {
	name             string
	slots            int // 0: not a semaphore
	readers, writers int
	taken            map[int]bool
	line             []*request
}

type request struct {
	p      *process
	call   int
	do     history.Do
	key    *resource
	shared bool
	done   bool
}

func (w *world) add(e history.Event) { w.events = append(w.events, e) }

func (w *world) after(d time.Duration, do func()) {
	w.seq++
	heap.Push(&w.queue, todo{at: w.now + d, seq: w.seq, do: do})
}

// of runs do for p after d, later if p is stopped then, never if it is dead.
func (w *world) of(p *process, d time.Duration, do func()) {
	w.after(d, func() {
		switch {
		case p.dead:
		case p.awake > w.now:
			w.of(p, p.awake-w.now+time.Duration(w.rand.IntN(2000))*time.Microsecond, do)
		default:
			do()
		}
	})
}

// about is a time around d.
func (w *world) about(d time.Duration) time.Duration {
	return time.Duration(float64(d) * min(6, w.rand.ExpFloat64()))
}

func (w *world) start(who string) {
	p := &process{who: who}
	w.clients = append(w.clients, p)
	w.add(history.Event{At: w.now, What: history.Started, Who: who})
	for range 4 {
		w.of(p, w.about(200*time.Millisecond), func() { w.ask(p) })
	}
}

func (w *world) key(name string, slots int) *resource {
	if w.keys[name] == nil {
		w.keys[name] = &resource{name: name, slots: slots, taken: map[int]bool{}}
	}
	return w.keys[name]
}

// ask begins a call of one caller.
func (w *world) ask(p *process) {
	if w.now > w.long-2*time.Second {
		return
	}
	r := &request{p: p, do: history.Lock}
	switch n := w.rand.IntN(100); {
	case n < 55:
		r.key = w.key([]string{"a", "b", "c"}[w.rand.IntN(3)], 0)
		if n < 8 {
			r.do = history.TryLock
		}
	case n < 78:
		r.key = w.key("book", 0)
		if n < 72 {
			r.do, r.shared = history.RLock, true
		}
	default:
		r.key, r.do = w.key("permits", 3), history.Acquire
	}
	p.calls++
	r.call = p.calls
	e := history.Event{At: w.now, What: history.Called, Who: p.who, Call: r.call, Do: r.do, Names: []string{r.key.name}}
	if r.do.Waits() && w.rand.IntN(3) == 0 {
		wait := 50*time.Millisecond + w.about(time.Second)
		e.Deadline = w.now + wait
		w.of(p, wait, func() { w.fail(r, history.Ended) })
	}
	w.add(e)
	r.key.line = append(r.key.line, r)
	w.of(p, time.Millisecond+w.about(2*time.Millisecond), func() {
		w.serve(r.key)
		if r.do == history.TryLock {
			w.fail(r, history.Taken)
		}
	})
}

func (w *world) fail(r *request, with history.Failure) {
	if r.done {
		return
	}
	r.done = true
	w.add(history.Event{At: w.now, What: history.Returned, Who: r.p.who, Call: r.call, Err: with})
	w.of(r.p, w.about(300*time.Millisecond), func() { w.ask(r.p) })
	w.serve(r.key)
}

// serve grants what can be, in line.
func (w *world) serve(k *resource) {
	for len(k.line) > 0 {
		r := k.line[0]
		if r.done || r.p.dead {
			k.line = k.line[1:]
			continue
		}
		slot := 0
		for s := 1; s <= k.slots && slot == 0; s++ {
			if !k.taken[s] {
				slot = s
			}
		}
		full := k.slots > 0 && slot == 0
		if full || k.slots == 0 && (k.writers > 0 || k.readers > 0 && !r.shared) || r.p.awake > w.now {
			return
		}
		k.line = k.line[1:]
		w.grant(r, slot)
	}
}

func (w *world) grant(r *request, slot int) {
	r.done = true
	k, p := r.key, r.p
	p.holds++
	hold := p.holds
	w.token++
	token := int64(1700000000000000) + w.token
	lease := 2 * time.Second
	base := history.Event{Who: p.who, Call: r.call, Hold: hold, Name: k.name, Slot: slot, Shared: r.shared, Token: token}
	grant := base
	grant.At, grant.What, grant.Until = w.now, history.Granted, w.now+lease
	w.add(grant)
	w.add(history.Event{At: w.now, What: history.Returned, Who: p.who, Call: r.call})
	count := &k.writers
	switch {
	case slot > 0:
		k.taken[slot] = true
		count = new(int)
	case r.shared:
		count = &k.readers
	}
	*count++
	free := func() {
		*count--
		k.taken[slot] = false
		w.serve(k)
	}
	length := time.Millisecond + w.about(25*time.Millisecond)
	if w.rand.IntN(40) == 0 {
		length = min(2*lease, w.about(lease))
	}
	until, over := w.now+lease, w.now+length
	for renewed := w.now + lease/3; renewed < over; renewed += lease / 3 {
		w.of(p, renewed-w.now, func() {
			if w.now >= until {
				return
			}
			until = w.now + lease
			w.add(history.Event{At: w.now, What: history.Alive, Who: p.who, Hold: hold, Until: until})
		})
	}
	if w.rand.IntN(3) == 0 {
		w.of(p, length/2, func() { w.write(p, base, w.now < until) })
	}
	var lose func()
	freed := false
	lose = func() { // the masters drop it
		if freed {
			return
		}
		if until > w.now {
			w.after(until-w.now, lose)
			return
		}
		freed = true
		free()
	}
	w.after(lease, lose)
	w.of(p, length, func() {
		if w.now >= until {
			w.add(history.Event{At: w.now, What: history.Lost, Who: p.who, Hold: hold, Text: "validity ended"})
		}
		p.calls++
		call := p.calls
		w.add(history.Event{At: w.now, What: history.Called, Who: p.who, Call: call, Do: history.Unlock, Hold: hold})
		w.of(p, 800*time.Microsecond+w.about(500*time.Microsecond), func() {
			w.add(history.Event{At: w.now, What: history.Returned, Who: p.who, Call: call})
			w.of(p, w.about(250*time.Millisecond), func() { w.ask(p) })
		})
		if !freed {
			freed = true
			w.after(700*time.Microsecond+w.about(300*time.Microsecond), free)
		}
	})
	if k.slots == 0 && !r.shared && length > 8*time.Millisecond && w.now > w.long*time.Duration(2+3*len(w.violations))/10 {
		w.intrude(grant, length)
	}
}

func (w *world) write(p *process, hold history.Event, accepted bool) {
	e := history.Event{At: w.now, What: history.Accepted, Who: p.who, Hold: hold.Hold, Name: hold.Name, Do: history.Writing, Token: hold.Token, Value: w.token}
	if !accepted || w.rand.IntN(60) == 0 {
		e.What = history.Refused
	}
	w.add(e)
}

// intrude has a second client get what first has.
func (w *world) intrude(first history.Event, length time.Duration) {
	other := w.clients[w.rand.IntN(len(w.clients))]
	if other.dead || other.who == first.Who {
		return
	}
	w.of(other, length/3, func() {
		other.calls++
		other.holds++
		w.token++
		second := history.Event{
			At: w.now, What: history.Granted, Who: other.who, Call: other.calls, Hold: other.holds, Name: first.Name,
			Token: first.Token + 1, Until: w.now + 2*time.Second,
		}
		w.add(history.Event{At: w.now - 3*time.Millisecond, What: history.Called, Who: other.who, Call: other.calls, Do: history.Lock, Names: []string{first.Name}})
		w.add(second)
		w.add(history.Event{At: w.now, What: history.Returned, Who: other.who, Call: other.calls})
		other.calls++
		call := other.calls
		w.of(other, length/3, func() {
			w.add(history.Event{At: w.now, What: history.Called, Who: other.who, Call: call, Do: history.Unlock, Hold: second.Hold})
		})
		v := history.Violation{
			Check: "exclusion", At: w.now, Events: []history.Event{first, second},
			Text: fmt.Sprintf("%s of %s and %s of %s both had %q", "hold "+fmt.Sprint(first.Hold), first.Who, "hold "+fmt.Sprint(second.Hold), second.Who, first.Name),
		}
		if len(w.violations) == 1 {
			v.Unpromised = "flushall on a majority 0.4 s before"
		}
		w.violations = append(w.violations, v)
	})
}

type todo struct {
	at  time.Duration
	seq int
	do  func()
}

type todos []todo

func (q todos) Len() int { return len(q) }
func (q todos) Less(i, j int) bool {
	return cmp.Or(cmp.Compare(q[i].at, q[j].at), cmp.Compare(q[i].seq, q[j].seq)) < 0
}
func (q todos) Swap(i, j int) { q[i], q[j] = q[j], q[i] }
func (q *todos) Push(x any)   { *q = append(*q, x.(todo)) }
func (q *todos) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	*q = slices.Delete(*q, last, last+1)
	return x
}
