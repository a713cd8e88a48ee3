package script

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"example.com/redlock/node/script/twin"
)

// TestTwin: a master and its twin do the same, whatever is asked of them. After every step of a
// random walk the answer, all that the master keeps and all that was published are compared. Two
// locks take part, so that what belongs to one is not taken from the other.
//
// Replay one seed: go test ./node/script -run 'TestTwin/seed=17$' -v
func TestTwin(t *testing.T) {
	walks(t, 0, func(w *walk) func() string { return w.step })
}

// walks runs random walks. of returns what makes a step of one.
func walks(t *testing.T, stream uint64, of func(w *walk) (step func() (did string))) {
	for seed := range portion(600) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				w := newWalk(h, rand.New(rand.NewPCG(seed, stream)))
				next := of(w)
				for step := 0; step < 80 && !t.Failed(); step++ {
					did := next()
					for step < 80 && w.r.IntN(2) == 0 {
						did, step = did+"; "+next(), step+1
					}
					w.check(fmt.Sprintf("step %d, %s", step, did))
				}
			})
		})
	}
}

// walk is a random walk on both.
type walk struct {
	h     *scriptFixture
	r     *rand.Rand
	names [2]string
	locks [2]twin.Lock
	slots [2]twin.Slots // of semaphores with the same names

	semaphores bool // the walk is on these, and not on locks: see TestTwinSlots

	hears  map[string]bool     // clients; "redisson" for all of its own
	posts  map[string]*mailbox // by channel
	expect map[string][]string

	differ string // in what answers were not those of the twin

	asks   [2][]twin.Entry // the last one of each owner that ever waited
	sent   [2][]twin.Entry // all of them
	owners twin.Owner
	modes  map[twin.Owner]twin.Mode
	tokens int64 // proposals begin there; all have as many digits, see before in package twin
}

func newWalk(h *scriptFixture, r *rand.Rand) *walk {
	w := &walk{
		h: h, r: r, names: [...]string{"k", "a{b}c"},
		hears: map[string]bool{}, posts: map[string]*mailbox{}, expect: map[string][]string{},
		modes:  map[twin.Owner]twin.Mode{},
		tokens: []int64{1000, 1_795_222_713_542_292}[r.IntN(2)],
	}
	for _, name := range []string{"a", "keep", "redisson"} {
		w.hears[name] = r.IntN(5) > 0
	}
	for _, name := range []string{"a", "keep"} {
		if w.hears[name] {
			w.listen(HandOffChannel(client(name)))
		}
	}
	for _, name := range w.names {
		if w.hears["redisson"] {
			w.listen(FreedChannel(name))
		}
	}
	return w
}

func (w *walk) listen(channel string) { w.posts[channel] = w.h.subscribe(channel) }

// now is the master's clock, as the twin has it.
func (w *walk) now() int64 { return time.Now().UnixMilli() }

// run lets the master carry out cmd. differs says in what its answer is not that of the twin, "" if in nothing.
func (w *walk) run(cmd *Command, differs func(got Answer) string) {
	if differ := differs(w.h.run(cmd)); differ != "" {
		w.differ += differ + "; "
	}
}

// step does the same to both, and returns what.
func (w *walk) step() (did string) {
	k := w.r.IntN(6) / 5 // mostly the first lock
	l, key, now, r := &w.locks[k], w.names[k], w.now(), w.r
	lease := 1 + r.Int64N(600)
	l.Expire(now)
	switch r.IntN(22) {
	case 0, 1, 2, 3:
		e := w.waiter(k)
		did = fmt.Sprintf("acquire %s for %d or register %+v", key, lease, e)
		w.compare(k, w.owner(k, e.Mode, e.Owner).AcquireOrRegister(millis(lease), entry(e)), l.AcquireOrRegister(now, w.hear, lease, e))
		return did
	case 4:
		e := w.waiter(k)
		did = fmt.Sprintf("register %+v for %s", e, key)
		w.compare(k, w.owner(k, e.Mode, e.Owner).Register(entry(e)), l.Register(now, e))
		return did
	case 5, 6:
		owner, token := w.somebody(k), w.proposal(k)
		mode := w.mode(k, owner)
		did = fmt.Sprintf("acquire %s for %d by %d, mode %d, proposal %d", key, lease, owner, mode, token)
		w.compare(k, w.owner(k, mode, owner).Acquire(millis(lease), token), l.Acquire(now, w.hear, mode, owner, lease, token))
		return did
	case 7:
		owner, count := w.somebody(k), 1+r.Int32N(4)
		mode := w.mode(k, owner)
		did = fmt.Sprintf("%d enters %s for %d, mode %d, count %d", owner, key, lease, mode, count)
		w.compare(k, w.owner(k, mode, owner).Enter(millis(lease), int(count)), l.Enter(now, mode, owner, count, lease))
		return did
	case 8:
		owner, count := w.somebody(k), 1+r.Int32N(4)
		mode := w.mode(k, owner)
		did = fmt.Sprintf("%d leaves %s, mode %d, count %d", owner, key, mode, count)
		w.compare(k, w.owner(k, mode, owner).Leave(int(count)), l.Leave(now, mode, owner, count))
		return did
	case 9, 10, 11, 12:
		return w.release(k)
	case 13:
		owner, token := w.somebody(k), w.near(l.Counter, 3)
		mode := w.mode(k, owner)
		did = fmt.Sprintf("%d raises %s to %d, mode %d", owner, key, token, mode)
		w.compare(k, w.owner(k, mode, owner).Raise(millis(lease), token), l.Raise(now, mode, owner, token))
		return did
	case 14, 15:
		return w.renew()
	case 16, 17, 18:
		return w.sleep()
	case 19:
		w.inspect(k)
		return "inspect " + key
	}
	return w.others(k)
}

// release is one of the five commands of release.lua, at a guarded master or not.
func (w *walk) release(k int) (did string) {
	l, key, now, r := &w.locks[k], w.names[k], w.now(), w.r
	owner, token := w.somebody(k), w.proposal(k)
	since := w.since(k, owner)
	if r.IntN(3) == 0 {
		token += 7 - token%7 // Redisson's turn
	}
	mode := w.mode(k, owner)
	did = fmt.Sprintf("release of %s by %d since %d, mode %d, token %d", key, owner, since, mode, token)
	cmd := w.owner(k, mode, owner).Release(token, since)
	there := func() twin.Reply { return l.Release(now, w.hear, mode, owner, token) }
	kind, next := r.IntN(9), twin.Entry{Owner: owner}
	if w.room(k) && (kind < 3 || kind == 8) {
		next = w.waiter(k)
	}
	switch {
	case kind < 3 && next.Owner != owner:
		did += fmt.Sprintf(", to %+v", next)
		cmd = w.owner(k, mode, owner).ReleaseTo(token, since, w.owner(k, next.Mode, next.Owner), entry(next))
		there = func() twin.Reply { return l.ReleaseTo(now, w.hear, mode, owner, token, next) }
	case kind == 8 && next.Owner != owner:
		did += fmt.Sprintf(", yield to %+v", next)
		cmd = w.owner(k, mode, owner).YieldTo(since, w.owner(k, next.Mode, next.Owner), entry(next))
		there = func() twin.Reply { return l.YieldTo(now, w.hear, mode, owner, next) }
	case kind == 3:
		did += ", yield"
		cmd = w.owner(k, mode, owner).Yield(since)
		there = func() twin.Reply { return l.Yield(now, w.hear, mode, owner) }
	case kind == 4 && w.mayForce(k):
		did = fmt.Sprintf("force %s, token %d", key, token)
		cmd = Force(key, token)
		there = func() twin.Reply { return l.Force(now, w.hear, token) }
	}
	if r.IntN(6) == 0 {
		did += ", guarded"
		cmd, token = guarded(cmd), twin.NoToken
	}
	w.compare(k, cmd, there())
	return did
}

// renew renews a few holds of any locks in one call.
func (w *walk) renew() (did string) {
	lease, heal, now := 1+w.r.Int64N(600), w.r.IntN(6) > 0, w.now()
	var holds []Renewal
	var want Answer
	for range 1 + w.r.IntN(3) {
		k := w.r.IntN(2)
		owner, token, count := w.somebody(k), w.proposal(k), 1+w.r.Int32N(4)
		mode := w.mode(k, owner)
		if w.mayRead(k, owner) && w.r.IntN(4) == 0 {
			mode = twin.Shared // a downgrade
		}
		if len(holds) > 0 && holds[0].Mode != Mode(mode) {
			continue
		}
		holds = append(holds, Renewal{Owner: w.owner(k, mode, owner), Count: int(count), Token: token})
		did += fmt.Sprintf(", %s by %d, mode %d, count %d, token %d", w.names[k], owner, mode, count, token)
		reply := w.locks[k].Renew(now, w.hear, mode, owner, count, lease, token, heal)
		w.told(k, reply)
		want.Outcome, want.Renewed = Outcome(Failed)+Outcome(reply.Outcome), append(want.Renewed, Renewed(reply.Renewed))
	}
	cmd := Renew(millis(lease), holds)
	if !heal {
		cmd = guarded(cmd)
	}
	w.run(cmd, func(got Answer) string {
		for i := range got.Errors {
			if got.Renewed[i] != NotLock {
				return fmt.Sprintf("hold %d: %v, but %v", i, got.Renewed[i], got.Errors[i])
			}
		}
		if got.Outcome != want.Outcome || !slices.Equal(got.Renewed, want.Renewed) {
			return fmt.Sprintf("answered %v %v, want %v %v", got.Outcome, got.Renewed, want.Outcome, want.Renewed)
		}
		return ""
	})
	return fmt.Sprintf("renew for %d%s, heal %v", lease, did, heal)
}

// sleep waits until something runs out, or the millisecond before or after, or just so.
func (w *walk) sleep() (did string) {
	now, ms := w.now(), 1+w.r.Int64N(200)
	var ends []int64
	for k := range w.names {
		line, marks := w.line(k)
		ends = append(ends, w.locks[k].Expires, w.locks[k].Turn, line.QueueExpires)
		for _, e := range line.Queue {
			ends = append(ends, e.Stale)
		}
		for _, m := range marks.Forced {
			ends = append(ends, m.Until)
		}
		for _, r := range w.locks[k].Reading {
			ends = append(ends, r.Until)
		}
		for _, at := range w.slots[k].Slots {
			ends = append(ends, at.Expires)
		}
	}
	ends = slices.DeleteFunc(ends, func(end int64) bool { return end <= now+1 || end == twin.Never })
	if len(ends) > 0 && w.r.IntN(2) == 0 {
		ms = ends[w.r.IntN(len(ends))] - now + w.r.Int64N(3) - 1
	}
	time.Sleep(millis(ms))
	return fmt.Sprint("sleep for ", ms)
}

// line returns who waits for the k-th, and who was forced out of it.
func (w *walk) line(k int) (*twin.Line, *twin.Marks) {
	if w.semaphores {
		return &w.slots[k].Line, &w.slots[k].Marks
	}
	return &w.locks[k].Line, &w.locks[k].Marks
}

// others is what is done to a master by somebody else.
func (w *walk) others(k int) (did string) {
	h, l, key, now := w.h, &w.locks[k], w.names[k], w.now()
	switch n := w.r.IntN(10); {
	case n == 0:
		h.m.FlushAll()
		w.locks = [2]twin.Lock{}
		return "flush all"
	case n >= 8:
		l.Counter = w.far()
		h.do("SET", belonging(fencePrefix, key), l.Counter, "PX", 2*time.Hour.Milliseconds())
		return fmt.Sprintf("the counter of %s is %d", key, l.Counter)
	case n < 3 && l.Alien:
		h.do("HDEL", key, "name")
		l.Alien = false
		if l.Holder == 0 {
			l.Expires = 0
		}
		return "another program leaves " + key
	case n < 3:
		h.do("HSET", key, "name", "bob")
		l.Alien = true
		if l.Holder == 0 {
			l.Expires = twin.Never
		}
		return "another program has a field of " + key
	case n < 6 && l.Expires != 0:
		h.do("PERSIST", key)
		l.Expires = twin.Never
		return "persist " + key
	case l.Expires != 0:
		h.do("DEL", key)
		l.Holder, l.Count, l.Expires, l.Alien = 0, 0, 0, false
		return "delete " + key
	case n < 8:
		l.Holder, l.Count, l.Expires = w.fresh("hers"), 2, now+500
		h.do("HSET", key, w.text(l.Holder), 2)
		h.do("PEXPIRE", key, 500)
		return "Redisson takes " + key
	}
	return "nothing"
}
