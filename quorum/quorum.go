// Package quorum counts votes: how many make a majority, when a vote is decided,
// what a lost vote means, and when another try is worth while.
//
// It is pure arithmetic, without I/O and without time of its own, and each function
// is checked against a deliberately dumb second version of itself.
//
// # Concurrency
//
// Functions of values; nothing is shared.
package quorum

import "time"

// Majority returns how many of n masters are a quorum. Any two quorums of the same n
// masters have a master in common, which is all that Redlock's safety rests on.
func Majority(n int) int { return n/2 + 1 }

// Result is the state of a vote.
type Result uint8

// A vote is pending until a majority said yes or can no longer do so.
const (
	Pending Result = iota
	Won
	Lost
)

func (r Result) String() string { return [...]string{"pending", "won", "lost"}[r] }

// Vote decides over n masters of which yes agreed and no will not agree any more,
// because they refused or because their answer is unknown. The others may still answer.
func Vote(n, yes, no int) Result {
	if yes >= Majority(n) {
		return Won
	}
	if n-no < Majority(n) {
		return Lost
	}
	return Pending
}

// Agreed returns the largest of the numbers that n masters answered, and of least, and
// whether a majority answered just that one. tokens has a number for each master whose
// answer counts, and 0 or less for the others.
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

// Contest is what stands in the way of a lost acquire.
type Contest uint8

// Undecided lasts while an answer that is still to come could change the verdict.
const (
	Undecided   Contest = iota
	Unreachable         // too few masters answered
	Taken               // another owner has a majority, or may have
	Split               // several owners have some masters each, none a majority
)

func (c Contest) String() string {
	return [...]string{"undecided", "unreachable", "taken", "split"}[c]
}

// Judge says why an acquire on n masters was lost: yes masters granted it, the masters
// in holders refused and named the owner they have, failed ones gave no usable answer
// and the rest has not answered yet.
//
// A failed master counts for whichever owner is the strongest, so Split is said only
// when it is sure, and a client may then try again at once: nobody has the lock.
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

// strongest returns the number of masters of the owner that has the most.
func strongest[O comparable](holders []O) int {
	most := 0
	for _, h := range holders {
		most = max(most, votes(holders, h))
	}
	return most
}

// votes returns how many masters name owner. There are a handful of masters, so
// counting again for each of them beats a map.
func votes[O comparable](holders []O, owner O) int {
	c := 0
	for _, h := range holders {
		if h == owner {
			c++
		}
	}
	return c
}

// Holder returns the owner that a majority of n masters name, and whether there is one.
func Holder[O comparable](n int, holders []O) (holder O, ok bool) {
	for _, h := range holders {
		if votes(holders, h) >= Majority(n) {
			return h, true
		}
	}
	return holder, false
}

// FreeAfter returns how long it takes until a majority of n masters is free, where left
// has the time that each master which answered said is left there, zero if it is free.
// It is false if too few masters answered to tell.
func FreeAfter(n int, left []time.Duration) (time.Duration, bool) {
	for i, d := range left {
		if sooner(left, i) == Majority(n)-1 {
			return d, true
		}
	}
	return 0, false
}

// sooner returns how many masters are free before master i. Of two that are free at the same
// moment the first comes first, so that no two have the same rank.
func sooner(left []time.Duration, i int) int {
	c := 0
	for j, d := range left {
		if d < left[i] || d == left[i] && j < i {
			c++
		}
	}
	return c
}

// Term counts votes that are valid for a time. left has how long the vote of each master
// is still valid: zero or less where it has none, or where it has run out.
//
// valid is how many there are. When they are a majority, it lasts as long as the vote of
// master last does, the q-th longest; otherwise last is -1.
func Term(left []time.Duration) (valid, last int) {
	q := Majority(len(left))
	last = -1
	for i, d := range left {
		if d <= 0 {
			continue
		}
		valid++
		if longer(left, i) == q-1 {
			last = i
		}
	}
	return valid, last
}

// longer returns how many votes come before vote i, the longest first. Of two that are
// as long the first comes first, so that no two have the same rank.
func longer(left []time.Duration, i int) int {
	c := 0
	for j, d := range left {
		if d > left[i] || d == left[i] && j < i {
			c++
		}
	}
	return c
}
