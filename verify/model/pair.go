package main

import "example.com/redlock/multilock/attempt"

// A process whose route is two sets of masters waits for the lock in the first set, and then for that in the second while
// it holds the first. Then both sets agree on a fencing token, and it has one hold, which ends when either half does:
// see several.go and held.go of redlock, and join.go of multilock. In this search such a process is two callers, one for
// each set.

// half reports whether caller c is a half of a process. Of each two halves, the first locks first.
func (k *Case) half(c int) bool { return c < 2*k.Pairs }

// second reports whether caller c begins when the one before it has the lock.
func (k *Case) second(c int) bool { return k.half(c) && c%2 == 1 }

// returns reports whether caller c may begin again when it has gone.
func (k *Case) returns(c int) bool { return k.Comes > 0 || k.half(c) }

// process reports whether two callers share a process.
func (k *Case) process(a, b int) bool {
	return k.client(a) == k.client(b) || k.half(a) && k.half(b) && a/2 == b/2
}

// holds reports whether caller c has the lock, together with its other half if there is one.
func (w *World) holds(k *Case, c int) bool {
	p := &w.Callers[c]
	switch {
	case k.second(c):
		return false // the first one tells
	case k.half(c):
		return p.Joined && p.valid(w.Now) && w.Callers[c+1].valid(w.Now)
	}
	return p.valid(w.Now)
}

// wonHalf is called when a half has got its lock.
func (w *World) wonHalf(k *Case, c int) {
	if !k.second(c) {
		w.start(k, c+1)
		return
	}
	low := c - 1
	if w.Callers[low].Token > w.Callers[c].Token {
		low = c
	}
	to := w.Callers[low^1].Token
	w.step(k, low, attempt.Event{Kind: attempt.Agree, Token: to}, 0)
	if p := &w.Callers[low]; p.live() && p.Token == to {
		w.joined(k, low)
	}
}

// agreed is called when it is settled whether a half gets the token of the other.
func (w *World) agreed(k *Case, c int, result attempt.Result) {
	if result == attempt.Confirmed {
		w.joined(k, c)
	} else {
		w.step(k, c, attempt.Event{Kind: attempt.Lose}, 0)
	}
}

// joined makes one hold of c and the other half. If a half was freed by force before, another caller may rightly have a
// larger token by now.
func (w *World) joined(k *Case, c int) {
	first := &w.Callers[c&^1]
	first.Joined = true
	w.noteText("C%d has the lock in both sets, token %d", c&^1, first.Token)
	if k.Tokens && !first.Forced && !w.Callers[c|1].Forced && !w.Top.judge(first) {
		w.violate(badToken)
	}
}

// parted is called when a half has ended: it ends the other half, or its wait. A process that did not have both yet
// begins anew, unless it gave up.
func (w *World) parted(k *Case, c int, was attempt.State) {
	p, other := &w.Callers[c], &w.Callers[c^1]
	if was != attempt.Held {
		if k.second(c) && other.live() {
			w.leave(k, c^1, 0)
		}
		return
	}
	if !other.live() && !other.contends() {
		return
	}
	first := &w.Callers[c&^1]
	again := !first.Joined && p.Why != attempt.Released
	first.Joined = false
	switch {
	case !other.live() || p.Why == attempt.Released:
		w.leave(k, c^1, 0)
	default:
		w.step(k, c^1, attempt.Event{Kind: attempt.Lose}, 0)
	}
	if again {
		w.start(k, c&^1)
	}
}

// refused reports whether caller c may not begin, since a client is there, or was there less than a lease ago, whose
// route has no set in common with its own. (A client's record lasts for longer than any lease.)
func (w *World) refused(k *Case, c int) bool {
	if k.Pairs == 0 || k.half(c) || k.Unsafe {
		return false
	}
	for o := range k.Callers {
		p := &w.Callers[o]
		if k.half(o) || k.masters(o)[0] == k.masters(c)[0] || !p.begun() {
			continue
		}
		if !p.gone() || p.Crashed && w.hasLeft(k, o) {
			return true
		}
	}
	return false
}

// hasLeft reports whether a master has anything of a caller.
func (w *World) hasLeft(k *Case, c int) bool {
	for m := range k.Masters {
		for o := range w.Masters[m].owners() {
			if callerOf(o) == c {
				return true
			}
		}
	}
	return false
}
