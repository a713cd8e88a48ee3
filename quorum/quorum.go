// Package quorum counts votes: how many make a majority, when a vote is decided, what a lost vote
// means, and when another try is worthwhile. It serves package redlock: its API is not stable.
//
// It is pure arithmetic: it does no I/O and reads no clock. Each function is checked against a
// deliberately simple second version.
//
// # Concurrency
//
// All functions depend on their arguments alone; nothing is shared.
package quorum

import (
	"cmp"
	"time"
)

// Majority returns how many of n masters are a quorum. Any two quorums of the same n masters have a
// master in common: Redlock's safety rests on that alone.
func Majority(n int) int { return n/2 + 1 }

// Meet reports whether each majority of n masters has a master in common with each majority of m
// masters, when the two sets have common of them in common. Then clients with the one set and clients
// with the other exclude each other.
//
// That is so if two majorities together are more than all masters there are. Sets that differ by one
// added or removed master always meet. Where one master takes the place of another in one step, they
// do only if n is even.
func Meet(n, m, common int) bool { return Majority(n)+Majority(m) > n+m-common }

// Result is the state of a vote.
type Result uint8

// A vote is pending until a majority has said yes or no longer can.
const (
	Pending Result = iota
	Won
	Lost
)

func (r Result) String() string { return [...]string{"pending", "won", "lost"}[r] }

// Vote decides a vote of n masters: yes of them agreed, and no of them will not, because they refused
// or because their answer is unknown. The others may still answer.
func Vote(n, yes, no int) Result {
	if yes >= Majority(n) {
		return Won
	}
	if n-no < Majority(n) {
		return Lost
	}
	return Pending
}

// Agreed returns the largest of least and of the numbers that n masters answered, and whether a
// majority answered exactly that number. tokens has a number for each master whose answer counts,
// and 0 or less for the others.
func Agreed(n int, tokens []int64, least int64) (largest int64, ok bool) {
	largest = least
	votes := 0
	for _, t := range tokens {
		if t > largest {
			largest, votes = t, 0
		}
		if t == largest && t > 0 {
			votes++
		}
	}
	return largest, votes >= Majority(n)
}

// Contest is the reason why an acquire was lost.
type Contest uint8

// A contest is Undecided while an answer that is still to come could change the verdict.
const (
	Undecided   Contest = iota
	Unreachable         // too few masters answered
	Taken               // another owner has a majority, or may have
	Split               // several owners have some masters each, and none has a majority
)

func (c Contest) String() string {
	return [...]string{"undecided", "unreachable", "taken", "split"}[c]
}

// Judge says why an acquire on n masters was lost: yes masters granted it, those in holders refused
// and named their owner, failed masters gave no usable answer, and the rest have not answered yet.
//
// A failed master counts for the owner that has the most masters. So Judge says Split only when that
// is certain: nobody has the lock, and a client may try again at once.
func Judge[O comparable](n, yes, failed int, holders []O) Contest {
	q := Majority(n)
	most := strongest(holders)
	pending := n - yes - failed - len(holders)
	if most >= q {
		return Taken
	}
	if yes+len(holders)+pending < q {
		return Unreachable
	}
	if most+failed+pending < q {
		return Split
	}
	if pending > 0 {
		return Undecided
	}
	return Taken
}

// strongest returns how many masters the owner with the most has.
func strongest[O comparable](holders []O) int {
	most := 0
	for _, h := range holders {
		most = max(most, votes(holders, h))
	}
	return most
}

// votes returns how many masters name owner. There are only a handful of masters, so counting again
// for each of them is faster than a map.
func votes[O comparable](holders []O, owner O) int {
	c := 0
	for _, h := range holders {
		if h == owner {
			c++
		}
	}
	return c
}

// Holder returns the owner that a majority of n masters name, and whether there is such an owner.
func Holder[O comparable](n int, holders []O) (holder O, ok bool) {
	for _, h := range holders {
		if votes(holders, h) >= Majority(n) {
			return h, true
		}
	}
	return holder, false
}

// FreeAfter returns how long it takes until a majority of n masters is free. left has, for each
// master that answered, the time left of the lock there: zero if it is free. FreeAfter returns false
// if too few masters answered to tell.
func FreeAfter(n int, left []time.Duration) (time.Duration, bool) {
	if i := smallest(left, Majority(n)-1); i >= 0 {
		return left[i], true
	}
	return 0, false
}

// Ahead returns how many stand before a waiter, at most, by what a majority of n masters told of
// their queues. told has a number for each master that told one: if that is no majority, the
// smallest counts, and 0 if there is none.
func Ahead(n int, told []int) int {
	rank := Majority(n) - 1
	if len(told) <= rank {
		rank = 0
	}
	if i := smallest(told, rank); i >= 0 {
		return told[i]
	}
	return 0
}

// Term counts votes that are valid for a limited time. left has, for each master, how long its vote
// is still valid: zero or less if it gave none, or if its vote has expired.
//
// If a majority is valid, it lasts as long as the vote of master last, the q-th longest; otherwise
// last is -1.
func Term(left []time.Duration) (last int) {
	if i := smallest(left, len(left)-Majority(len(left))); i >= 0 && left[i] > 0 {
		return i
	}
	return -1
}

// smallest returns the index of the smallest of list but for k smaller ones; -1 if there is none. Of two that are equal, the
// one with the smaller index comes first.
func smallest[T cmp.Ordered](list []T, k int) int {
	for i, x := range list {
		before := 0
		for j, y := range list {
			if y < x || y == x && j < i {
				before++
			}
		}
		if before == k {
			return i
		}
	}
	return -1
}
