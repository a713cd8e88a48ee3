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
	walks(t, 0, func(w *walk) func() { return w.step })
}

// walks runs random walks. of returns what makes a step of one.
func walks(t *testing.T, stream uint64, of func(w *walk) (step func())) {
	for seed := range portion(600) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				w := newWalk(h, rand.New(rand.NewPCG(seed, stream)))
				next := of(w)
				for step := 0; step < 80 && !t.Failed(); step++ {
					next()
					for step < 80 && w.r.IntN(2) == 0 {
						next()
						step++
					}
					w.check(step)
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

	want   map[string]string // what the twin has at each key
	did    []string          // since everything was compared last
	differ []string          // in what answers were not those of the twin

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
	w.did = append(w.did, sent(cmd))
	if differ := differs(w.h.run(cmd)); differ != "" {
		w.differ = append(w.differ, differ)
	}
}

// do has somebody else do something to the master.
func (w *walk) do(command string, args ...any) {
	w.did = append(w.did, fmt.Sprint(command, args))
	w.h.do(command, args...)
}

// step does the same to both.
func (w *walk) step() {
	k := w.r.IntN(6) / 5 // mostly the first lock
	l, now, r := &w.locks[k], w.now(), w.r
	lease, count := 1+r.Int64N(600), 1+r.Int32N(4)
	l.Expire(now)
	switch r.IntN(22) {
	case 0, 1, 2, 3:
		e := w.waiter(k)
		w.compare(k, w.owner(k, e.Mode, e.Owner).AcquireOrRegister(millis(lease), entry(e)), l.AcquireOrRegister(now, w.hear, lease, e))
	case 4:
		e := w.waiter(k)
		w.compare(k, w.owner(k, e.Mode, e.Owner).Register(entry(e)), l.Register(now, e))
	case 5, 6:
		owner, mode, o := w.draw(k)
		token := w.proposal(k)
		w.compare(k, o.Acquire(millis(lease), token), l.Acquire(now, w.hear, mode, owner, lease, token))
	case 7:
		owner, mode, o := w.draw(k)
		w.compare(k, o.Enter(millis(lease), int(count)), l.Enter(now, mode, owner, count, lease))
	case 8:
		owner, mode, o := w.draw(k)
		w.compare(k, o.Leave(int(count)), l.Leave(now, mode, owner, count))
	case 9, 10, 11, 12:
		w.release(k)
	case 13:
		owner, mode, o := w.draw(k)
		token := w.near(l.Counter, 3)
		w.compare(k, o.Raise(millis(lease), token), l.Raise(now, mode, owner, token))
	case 14, 15:
		w.renew()
	case 16, 17, 18:
		w.sleep()
	case 19:
		w.inspect(k)
	default:
		w.others(k)
	}
}

// release is one of the five commands of release.lua, at a guarded master or not.
func (w *walk) release(k int) {
	l, now, r := &w.locks[k], w.now(), w.r
	owner, mode, o := w.draw(k)
	since, token := w.since(k, owner), w.proposal(k)
	if r.IntN(3) == 0 {
		token += 7 - token%7 // Redisson's turn
	}
	kind, next := r.IntN(9), twin.Entry{Owner: owner}
	if w.room(k) && (kind < 3 || kind == 8) {
		next = w.waiter(k)
	}
	guard, there := r.IntN(6) == 0, token
	if guard {
		there = twin.NoToken
	}
	var cmd *Command
	var want twin.Reply
	switch {
	case kind < 3 && next.Owner != owner:
		cmd = o.ReleaseTo(token, since, w.owner(k, next.Mode, next.Owner), entry(next))
		want = l.ReleaseTo(now, w.hear, mode, owner, there, next)
	case kind == 8 && next.Owner != owner:
		cmd = o.YieldTo(since, w.owner(k, next.Mode, next.Owner), entry(next))
		want = l.ReleaseTo(now, w.hear, mode, owner, twin.NoToken, next)
	case kind == 3:
		cmd = o.Yield(since)
		want = l.Release(now, w.hear, mode, owner, twin.NoToken)
	case kind == 4 && w.mayForce(k):
		cmd = Force(w.names[k], token)
		want = l.Force(now, w.hear, there)
	default:
		cmd = o.Release(token, since)
		want = l.Release(now, w.hear, mode, owner, there)
	}
	if guard {
		cmd = guarded(cmd)
	}
	w.compare(k, cmd, want)
}

// renew renews a few holds of any locks in one call.
func (w *walk) renew() {
	lease, heal, now := 1+w.r.Int64N(600), w.r.IntN(4) > 0, w.now()
	var holds []Renewal
	var want Answer
	for range 1 + w.r.IntN(3) {
		k := w.r.IntN(6) / 5
		owner, mode, _ := w.draw(k)
		token, count := w.proposal(k), 1+w.r.Int32N(4)
		if w.mayRead(k, owner) && w.r.IntN(4) == 0 {
			mode = twin.Shared // a downgrade
		}
		if len(holds) > 0 && holds[0].Mode != Mode(mode) {
			continue
		}
		holds = append(holds, Renewal{Owner: w.owner(k, mode, owner), Count: int(count), Token: token})
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
}

// sleep waits until something runs out, or the millisecond before or after, or just so.
func (w *walk) sleep() {
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
	w.did = append(w.did, fmt.Sprintf("sleep for %d ms", ms))
	time.Sleep(millis(ms))
}

// line returns who waits for the k-th, and who was forced out of it.
func (w *walk) line(k int) (*twin.Line, *twin.Marks) {
	if w.semaphores {
		return &w.slots[k].Line, &w.slots[k].Marks
	}
	return &w.locks[k].Line, &w.locks[k].Marks
}

// others is what is done to a master by somebody else.
func (w *walk) others(k int) {
	l, key := &w.locks[k], w.names[k]
	switch n := w.r.IntN(10); {
	case n == 0:
		w.do("FLUSHALL")
		w.locks = [2]twin.Lock{}
	case n >= 8:
		l.Counter = w.far()
		w.do("SET", belonging(fencePrefix, key), l.Counter, "PX", 2*time.Hour.Milliseconds())
	case n < 3 && l.Alien:
		w.do("HDEL", key, "name")
		l.Alien = false
		if l.Holder == 0 {
			l.Expires = 0
		}
	case n < 3:
		w.do("HSET", key, "name", "bob")
		l.Alien = true
		if l.Holder == 0 {
			l.Expires = twin.Never
		}
	case n < 6 && l.Expires != 0:
		w.do("PERSIST", key)
		l.Expires = twin.Never
	case l.Expires != 0:
		w.do("DEL", key)
		l.Holder, l.Count, l.Expires, l.Alien = 0, 0, 0, false
	case n < 8: // Redisson takes it
		l.Holder, l.Count, l.Expires = w.fresh("hers"), 2, w.now()+500
		w.do("HSET", key, w.text(l.Holder), 2)
		w.do("PEXPIRE", key, 500)
	}
}
