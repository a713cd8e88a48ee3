package script

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// twin is what a master should do with the lock "k" and its queue, in the dumbest way. The
// fencing counter it reads off the master: that it only grows is checked apart.
type twin struct {
	owner  string
	alien  bool      // another program's hash lies at the key
	passed *asking   // whom the lock was passed to in this step
	end    time.Time // of the lease
	turn   time.Time // end of Redisson's
	queue  []seat    // in any order
	theirs bool      // Redisson's clients listen
	mail   []string  // to clients that listen, with # for a token; "0" to Redisson
}

// asking is an ask with the one who asks.
type asking struct {
	QueueEntry
	owner string
}

// seat is one that waits, and until when its last ask counts.
type seat struct {
	asking
	stale time.Time
}

func (w *twin) left() time.Duration {
	if w.owner != "" && !time.Now().Before(w.end) {
		w.owner = ""
	}
	if w.owner == "" {
		return 0
	}
	return time.Until(w.end)
}

func (w *twin) give(owner string, lease time.Duration) {
	w.owner, w.end = owner, time.Now().Add(lease)
}

func (w *twin) leave(owner string) {
	w.queue = slices.DeleteFunc(w.queue, func(s seat) bool { return s.owner == owner })
}

func (w *twin) enter(a *asking) {
	if a != nil {
		w.leave(a.owner)
		w.queue = append(w.queue, seat{*a, time.Now().Add(a.Lease)})
	}
}

func (w *twin) first() seat {
	return slices.MinFunc(w.queue, func(a, b seat) int { return int(a.Since - b.Since) })
}

// deaf is the client that does not listen.
func deaf(owner string) bool { return strings.HasPrefix(owner, client("deaf")) }

func (w *twin) tell(format string, args ...any) {
	w.mail = append(w.mail, fmt.Sprintf(format, args...))
}

func (w *twin) free() {
	if w.theirs {
		w.tell("0")
	}
}

// pass reports whether somebody else than me has the lock now.
func (w *twin) pass(me string) bool {
	for len(w.queue) > 0 {
		s := w.first()
		w.leave(s.owner)
		if s.owner == me {
			return false
		}
		if time.Now().Before(s.stale) && !deaf(s.owner) {
			w.give(s.owner, s.Lease)
			w.passed = &s.asking
			w.tell("%s %d # k", s.owner, s.Round)
			return true
		}
	}
	return false
}

func (w *twin) acquire(owner string, lease time.Duration, count int, a *asking) Answer {
	switch left := w.left(); {
	case w.alien:
		return Answer{Outcome: Failed}
	case left > 0 && w.owner == owner:
		w.give(owner, max(left, lease))
		return Answer{Outcome: Done}
	case left > 0:
		w.enter(a)
		return Answer{Outcome: Refused, Holder: w.owner, Left: left}
	case count > 1:
		return Answer{Outcome: Refused}
	case len(w.queue) > 0:
		w.enter(a)
		if left := time.Until(w.turn); left > 0 {
			return Answer{Outcome: Refused, Holder: "redisson", Left: left}
		}
		if w.pass(owner) {
			return Answer{Outcome: Refused, Holder: w.owner, Left: w.left()}
		}
	}
	w.give(owner, lease)
	return Answer{Outcome: Done}
}

func (w *twin) register(a *asking) Answer {
	if w.alien {
		return Answer{Outcome: Failed}
	}
	left := w.left()
	if left > 0 && w.owner == a.owner {
		return Answer{Outcome: Done}
	}
	w.enter(a)
	return Answer{Outcome: Refused, Holder: w.owner, Left: left}
}

func (w *twin) release(owner string, token int64, next *asking, timid bool) Answer {
	mine := w.left() > 0 && (owner == w.owner || owner == "")
	answer := Answer{Outcome: Refused}
	if w.alien {
		w.leave(owner)
		if owner == "" || next != nil {
			answer.Outcome = Failed
		}
		return answer
	}
	if mine {
		w.owner = ""
		answer.Outcome = Done
	}
	w.enter(next)
	if !mine {
		w.leave(owner)
	}
	switch {
	case w.owner != "", !mine && time.Now().Before(w.turn):
	case mine && !timid && token%7 == 0 && len(w.queue) > 0 && w.theirs:
		w.turn = time.Now().Add(20 * time.Millisecond)
		w.free()
		if s := w.first(); !deaf(s.owner) {
			w.tell("%s 0 # k", s.owner)
		}
	case timid || !w.pass(""):
		if mine {
			w.free()
		}
	}
	return answer
}

// TestTwin: a master and its twin do the same, whatever is asked of them.
//
// Replay one seed: go test ./node -run 'TestTwin/seed=17$' -v
func TestTwin(t *testing.T) {
	for seed := range portion(40) {
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			inHall(t, func(h *hall) { walk(h, rand.New(rand.NewPCG(seed, 0))) })
		})
	}
}

func walk(h *hall, r *rand.Rand) {
	w := &twin{theirs: r.IntN(2) == 0}
	channels := []string{"redlock_wake:" + client("a"), "redlock_wake:" + client("b")}
	if w.theirs {
		channels = append(channels, shut)
	}
	post := h.subscribe(channels...)
	var asks []*asking // of all that ever waited
	owners, counter := 0, int64(0)
	fresh := func() string {
		owners++
		return id(fmt.Sprintf("%s:r%d", []string{"a", "b", "deaf"}[r.IntN(3)], owners))
	}
	waiter := func() *asking {
		if len(asks) > 0 && r.IntN(3) > 0 {
			a := *asks[r.IntN(len(asks))] // commands and seats keep theirs
			a.Round++
			a.Proposal = proposal(r, counter)
			asks = append(asks, &a)
			return &a
		}
		// The stamps are all different, and in no order.
		a := &asking{owner: fresh(), QueueEntry: QueueEntry{Round: 1, Since: r.Int64N(1e9)*100 + int64(owners), Lease: upTo(r, 400), Proposal: proposal(r, counter)}}
		asks = append(asks, a)
		return a
	}
	for step := range 60 {
		var got, want Answer
		var did string
		lease, token := upTo(r, 600), int64(0) // which a pass must be above
		switch r.IntN(11) {
		case 0, 1, 2:
			a := waiter()
			did = fmt.Sprintf("ask %+v for %v", *a, lease)
			got, want = h.run(NewOwner("k", a.owner).AcquireOrRegister(lease, a.QueueEntry)), w.acquire(a.owner, lease, 1, a)
		case 3:
			owner := fresh()
			did = fmt.Sprintf("try of %s for %v", owner, lease)
			got, want = h.run(NewOwner("k", owner).Acquire(lease, proposal(r, counter))), w.acquire(owner, lease, 1, nil)
		case 4:
			owner := cmp.Or(w.owner, id("x:r0"))
			did = fmt.Sprintf("%s enters again for %v", owner, lease)
			got, want = h.run(NewOwner("k", owner).Enter(lease, 2)), w.acquire(owner, lease, 2, nil)
		case 5, 6:
			owner, since := w.owner, int64(0)
			if len(asks) > 0 && r.IntN(3) == 0 {
				a := asks[r.IntN(len(asks))]
				owner, since = a.owner, a.Since
			}
			owner, token = cmp.Or(owner, id("x:r0")), proposal(r, counter)
			cmd, timid := NewOwner("k", owner).Release(token, since), r.IntN(6) == 0
			var next *asking
			if r.IntN(3) == 0 {
				next = &asking{owner: fresh(), QueueEntry: QueueEntry{Round: 1, Since: r.Int64N(1e9)*100 + int64(owners), Lease: upTo(r, 400), Proposal: proposal(r, counter)}}
				asks = append(asks, next)
				cmd = NewOwner("k", owner).ReleaseTo(token, since, NewOwner("k", next.owner), next.QueueEntry)
			}
			did = fmt.Sprintf("release of %s, token %d, next %+v, timid %v", owner, token, next, timid)
			if timid {
				cmd = guarded(cmd)
			}
			got, want = h.run(cmd), w.release(owner, token, next, timid)
		case 9:
			a := waiter()
			did = fmt.Sprintf("register %+v", *a)
			got, want = h.run(NewOwner("k", a.owner).Register(a.QueueEntry)), w.register(a)
		case 7:
			did, token = "force", proposal(r, counter)
			got, want = h.run(Force("k", token)), w.release("", token, nil, false)
		case 8:
			d := upTo(r, 200)
			if r.IntN(20) == 0 {
				d = 10 * time.Second
				w.queue = nil
			}
			did = fmt.Sprint("sleep ", d)
			time.Sleep(d)
		case 10:
			w.owner, w.alien = "", !w.alien
			did = fmt.Sprint("another program's hash is there: ", w.alien)
			h.m.Del("k")
			if w.alien {
				h.m.HSet("k", "name", "bob")
			}
		}
		did = fmt.Sprintf("step %d, %s", step, did)
		h.checkTwin(did, w, post.take(), got, want, &counter, token)
		if h.t.Failed() {
			return
		}
	}
}

// checkTwin compares the answer, the lock, the queue and what was published. counter is
// the fencing counter before.
func (h *hall) checkTwin(did string, w *twin, mail []string, got, want Answer, counter *int64, token int64) {
	h.t.Helper()
	before := *counter
	if text := h.m.Get("redlock_fence:{k}"); text != "" {
		*counter, _ = strconv.ParseInt(text, 10, 64)
	}
	if got.Outcome != want.Outcome || got.Holder != want.Holder || got.Left != want.Left {
		h.t.Errorf("%s: answered %+v, want %+v", did, got, want)
	}
	if got.Token != 0 && got.Token != *counter || *counter < before {
		h.t.Errorf("%s: token %d, fencing counter from %d to %d", did, got.Token, before, *counter)
	}
	if a := w.passed; a != nil && *counter != max(before+1, token+1, a.Proposal) {
		h.t.Errorf("%s: fencing counter from %d to %d, after token %d and for proposal %d", did, before, *counter, token, a.Proposal)
	}
	w.passed = nil
	for i, m := range mail {
		words := strings.Fields(m)
		if len(words) != 4 {
			continue
		}
		if words[1] != "0" && words[2] != decimal(*counter) {
			h.t.Errorf("%s: passed with %q, fencing counter %d", did, m, *counter)
		}
		words[2] = "#"
		mail[i] = strings.Join(words, " ")
	}
	slices.Sort(mail) // of two channels
	slices.Sort(w.mail)
	if !slices.Equal(mail, w.mail) {
		h.t.Errorf("%s: published %q, want %q", did, mail, w.mail)
	}
	w.mail = nil
	left := w.left()
	holder := w.owner
	if w.alien {
		holder = "name"
	}
	h.wantLock(did, holder, left)
	var queue []string
	slices.SortFunc(w.queue, func(a, b seat) int { return int(a.Since - b.Since) })
	for _, s := range w.queue {
		queue = append(queue, fmt.Sprint(s.owner, " ", s.Round))
	}
	h.wantQueue(did, queue...)
}

// proposal returns a fencing token near the counter.
func proposal(r *rand.Rand, counter int64) int64 { return max(1, counter+r.Int64N(7)-2) }

// upTo returns n ms at most.
func upTo(r *rand.Rand, n int) time.Duration {
	return time.Duration(1+r.IntN(n)) * time.Millisecond
}
