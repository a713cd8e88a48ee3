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
// Replay one seed: go test ./node/script -run 'TestTwin(Long)?$/seed=17$' -v
func TestTwin(t *testing.T) { walks(t, 0, 60) }

// TestTwinLong is TestTwin with more seeds.
func TestTwinLong(t *testing.T) { walks(t, 60, 540) }

func walks(t *testing.T, first, seeds uint64) {
	for seed := first; seed < first+seeds; seed++ {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			withScripts(t, func(h *scriptFixture) {
				w := newWalk(h, rand.New(rand.NewPCG(seed, 0)))
				for step := 0; step < 80 && !t.Failed(); step++ {
					w.step()
					for step < 80 && w.r.IntN(2) == 0 {
						w.step()
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

	hears  map[string]bool     // clients; "redisson" for all of its own
	posts  map[string]*mailbox // by channel
	expect map[string][]string

	want   map[string]string // what the twin has at each key
	did    []string          // since everything was compared last
	differ []string          // in what answers were not those of the twin

	asks   [2][]twin.Entry // of those who ever waited, all
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
	if r.IntN(4) == 0 { // Redisson's clients do not hear of slots, and have no turn there: see TestSlotFreed
		w.names, w.hears["redisson"] = [...]string{SlotKey("k", 7), SlotKey("a{b}c", 7)}, false
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
	k := w.r.IntN(6) / 5 // mostly the first
	now, lease := w.now(), 1+w.r.Int64N(600)
	w.locks[k].Expire(now)
	switch w.r.IntN(23) {
	case 0, 1, 2, 3, 4:
		e := w.waiter(k)
		w.compare(k, w.asker(k, e).AcquireOrRegister(millis(lease), entry(e)), func(l *twin.Lock) twin.Reply { return l.Acquire(now, w.hear, lease, e) })
	case 5:
		e := w.waiter(k)
		w.compare(k, w.asker(k, e).Register(entry(e)), func(l *twin.Lock) twin.Reply { return l.Acquire(now, w.hear, 0, e) })
	case 6, 7:
		e := twin.Entry{Owner: w.somebody(k), Proposal: w.proposal(k)}
		e.Mode = w.mode(e.Owner)
		w.compare(k, w.asker(k, e).Acquire(millis(lease), e.Proposal), func(l *twin.Lock) twin.Reply { return l.Acquire(now, w.hear, lease, e) })
	case 8, 9, 10, 11:
		w.release(k)
	case 12:
		w.raise(k, lease)
	case 13, 14, 15:
		w.renew(lease)
	case 16, 17, 18:
		w.sleep()
	case 19:
		w.inspect(k)
	case 20, 21:
		w.enterOrLeave(k, lease)
	default:
		w.others(k)
	}
}

func (w *walk) enterOrLeave(k int, lease int64) {
	a, count := w.draw(k), 1+w.r.Int32N(4)
	cmd := a.Enter(millis(lease), int(count))
	if w.r.IntN(2) == 0 {
		cmd, lease = a.Leave(int(count)), 0
	}
	w.compare(k, cmd, func(l *twin.Lock) twin.Reply { return l.Enter(w.now(), a.mode, a.owner, count, lease) })
}

func (w *walk) raise(k int, lease int64) {
	a, token := w.draw(k), w.near(w.locks[k].Counter, 3)
	w.compare(k, a.Raise(millis(lease), token), func(l *twin.Lock) twin.Reply { return l.Raise(w.now(), a.mode, a.owner, token) })
}

// release is one of the commands that give back, or a force, at a guarded master or not.
func (w *walk) release(k int) {
	a, token, r := w.draw(k), w.proposal(k), w.r
	since, kind, guard := w.since(k, a.owner), r.IntN(9), r.IntN(6) == 0
	if r.IntN(3) == 0 {
		token += 7 - token%7 // Redisson's turn
	}
	yields := kind%4 == 0
	there := token
	if guard || yields {
		there = twin.NoToken
	}
	if kind == 7 {
		w.compare(k, sentTo(guard, Force(w.names[k], token)), func(l *twin.Lock) twin.Reply { return l.Force(w.now(), w.hear, there) })
		return
	}
	cmd := a.Release(token, since)
	if yields {
		cmd = a.Yield(since)
	}
	var next twin.Entry
	if kind < 5 {
		if next = w.waiter(k); next.Owner == a.owner {
			next = twin.Entry{}
		} else {
			cmd = cmd.Entering(w.asker(k, next), entry(next))
		}
	}
	w.compare(k, sentTo(guard, cmd), func(l *twin.Lock) twin.Reply {
		return l.Release(w.now(), w.hear, a.mode, a.owner, there, next)
	})
}

// renew renews a few holds of any locks in one call.
func (w *walk) renew(lease int64) {
	heal, now := w.r.IntN(4) > 0, w.now()
	var holds []Renewal
	want := Answer{Outcome: Done}
	for range 1 + w.r.IntN(3) {
		k := w.r.IntN(6) / 5
		a, token, count := w.draw(k), w.proposal(k), 1+w.r.Int32N(4)
		if w.r.IntN(4) == 0 {
			a = w.actor(k, a.owner, twin.Shared) // a downgrade
		}
		if reply, ok := w.twin(k, func(l *twin.Lock) twin.Reply {
			return l.Renew(now, w.hear, a.mode, a.owner, count, lease, token, heal)
		}); ok {
			holds = append(holds, Renewal{Owner: a.Owner, Count: int(count), Token: token})
			want.Renewed = append(want.Renewed, Renewed(reply.Renewed))
		}
	}
	w.run(sentTo(!heal, Renew(millis(lease), holds)), func(got Answer) string {
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
		l := &w.locks[k]
		ends = append(ends, l.Expires, l.Turn, l.QueueExpires)
		for _, e := range l.Queue {
			ends = append(ends, e.Stale)
		}
		for _, m := range l.Forced {
			ends = append(ends, m.Until)
		}
		for _, r := range l.Reading {
			ends = append(ends, r.Until)
		}
	}
	ends = slices.DeleteFunc(ends, func(end int64) bool { return end <= now+1 || end == twin.Never })
	if len(ends) > 0 && w.r.IntN(2) == 0 {
		ms = ends[w.r.IntN(len(ends))] - now + w.r.Int64N(3) - 1
	}
	w.did = append(w.did, fmt.Sprintf("sleep for %d ms", ms))
	time.Sleep(millis(ms))
}
