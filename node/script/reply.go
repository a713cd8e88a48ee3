package script

import (
	"errors"
	"slices"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/quote"
)

// Decode returns the meaning of the reply to c: a value or a redis.Error.
func (c *Command) Decode(reply any) Answer {
	refusal, refused := reply.(redis.Error)
	switch {
	case refused && c.verb == plain:
		return Answer{Outcome: Failed, Err: refusal}
	case refused:
		return Answer{Outcome: Failed, Err: Meaning(refusal)}
	case c.verb == plain:
		return Answer{Outcome: Done, Reply: reply}
	}
	a, ok := c.decode(reply)
	if !ok {
		return Answer{Outcome: Failed, Err: unexpected(reply)}
	}
	switch {
	case a.Outcome == Done && a.Token == 0:
		a.Token = c.proposal // which is 0 for other commands
	case a.Outcome == Refused && a.Token > 0:
		a.Err = errCounter
	}
	if a.Token > MaxToken {
		return Answer{Outcome: Failed, Err: errBeyond}
	}
	return a
}

func (c *Command) decode(reply any) (a Answer, ok bool) {
	list, _ := reply.([]any)
	switch {
	case c.verb == renewing:
		return renewed(list, len(c.holds))
	case c.slots > 0:
		return looked(list, c.slots)
	case c.verb == inspecting:
		return inspected(list)
	}
	return read(reply)
}

// longestHolder is longer than any owner, of ours or of Redisson's: callers are told who has a lock.
const longestHolder = 256

// read reads an answer in the shape that all scripts have: {code, token, ms left, holder, rank}. The code is 1 for yes
// and 0 for no. What is 0 or empty at the end may be left out, and a code alone is no list.
func read(reply any) (a Answer, ok bool) {
	list, _ := reply.([]any)
	if code, alone := reply.(int64); alone {
		return Answer{Outcome: Refused + Outcome(code&1)}, code&^1 == 0
	}
	ok = len(list) > 0 && len(list) <= 5
	number := func(i int) (n int64) {
		if ok && i < len(list) {
			n, ok = list[i].(int64)
		}
		return n
	}
	code, token, left, rank := number(0), number(1), number(2), number(4)
	var holder []byte
	if ok && len(list) > 3 {
		holder, ok = list[3].([]byte)
	}
	ok = ok && code&^1 == 0 && token >= 0 && rank >= 0 && len(holder) <= longestHolder
	if ok {
		a = Answer{Outcome: Refused + Outcome(code), Token: token, Left: millis(left), Holder: string(holder), Rank: int(rank)}
	}
	return a, ok
}

// renewed reads what renew.lua says of each hold: a code of its own, or an error.
func renewed(list []any, holds int) (a Answer, ok bool) {
	if len(list) != holds {
		return a, false
	}
	a = Answer{Outcome: Done, Renewed: make([]Renewed, holds)}
	for i, r := range list {
		n, isCode := r.(int64)
		refusal, refused := r.(redis.Error)
		switch {
		case isCode && int64(Foreign) <= n && n <= int64(Healed):
			a.Renewed[i] = Renewed(n)
		case refused:
			what, why := Errored, Meaning(refusal)
			if _, notLock := why.(*NotLockError); notLock {
				what = NotLock
			}
			a.spoil(i, what, why)
		default:
			a.spoil(i, Errored, unexpected(r))
		}
	}
	return a, true
}

// inspected reads what inspect.lua says of a lock: as all scripts do, with the hold count for the rank, and two lists.
func inspected(list []any) (a Answer, ok bool) {
	if len(list) != 7 {
		return a, false
	}
	a, ok = read(list[:5])
	a.Count, a.Rank = a.Rank, 0
	if a.Holder == "" {
		a.Left = 0
	}
	var crowd Crowd
	if !ok || a.Outcome != Done || !rows(list[5], &crowd.Readers, "Owner", "Left") || !rows(list[6], &crowd.Waiters, "Owner", "Mode") {
		return a, false
	}
	for i, r := range crowd.Readers {
		crowd.Readers[i].Left = millis(int64(r.Left))
	}
	if len(crowd.Readers)+len(crowd.Waiters) > 0 {
		a.Crowd = &crowd
	}
	return a, !slices.ContainsFunc(crowd.Waiters, func(w Waiter) bool { return w.Mode > Shared })
}

// longestQueue is longer than any queue, and the sum of all masters' has room in an int of 32 bits.
const longestQueue = 1 << 24

// looked reads what inspect.lua says of n slots.
func looked(list []any, n int) (a Answer, ok bool) {
	if a.Outcome = Done; list == nil || len(list) > 3*n || !rows(list, &a.Slots, "Slot", "Left", "Queue") {
		return a, false
	}
	next := 0
	for i, s := range a.Slots {
		if s.Slot < next || s.Slot >= n || s.Left < -2 || s.Queue < 0 || s.Queue > longestQueue {
			return a, false
		}
		next = s.Slot + 1
		if a.Slots[i].Held = s.Left != -2; s.Left != -2 {
			a.Slots[i].Left = millis(int64(s.Left))
		} else {
			a.Slots[i].Left = 0
		}
	}
	return a, true
}

// rows reads a list of as many words for each row as fields are named.
func rows(list, into any, fields ...string) bool {
	words, is := list.([]any)
	return is && redis.ScanSlice(words, into, fields...) == nil
}

func millis(left int64) time.Duration {
	if left < 0 || left > Never.Milliseconds() {
		return Never
	}
	return time.Duration(left) * time.Millisecond
}

func unexpected(reply any) error {
	return errors.New("unexpected reply to a script: " + quote.Value(reply))
}

// Longest is how many bytes the reply to c may have, as it is sent, with 4 more for each element of a list. An
// error is not counted: it may be longer than a reply that is none.
//
// The bounds are ample: a reply that is longer comes from something else than a master.
func (c *Command) Longest() int {
	switch c.verb {
	case plain:
		return Longest(c.args[0].(string))
	case renewing:
		return longestStep * (1 + len(c.holds))
	case inspecting:
		if c.slots > 0 {
			return 128 + 3*32*c.slots // three numbers for each
		}
		return maxTold * longestStep // half for a reader, half for one who waits
	}
	return longestStep
}

// longestStep is more than the reply to a script that takes one step of one owner: who has the lock, and for how
// long. For a hold that is renewed it may be an error.
const longestStep = 512

// Longest is how many bytes the reply to a plain command may have, by its first word.
func Longest(name string) int {
	switch name {
	case "PING", "TIME", "SET", "DEL", "TYPE", "PTTL":
		return 128
	case "INFO", // Redis 7.0 has 5 kB, and 8 tells the sizes of keys in each database
		"ACL",      // of a user with many rules
		"GETRANGE": // a record
		return 64 << 10
	case "SLOWLOG": // 32 entries of 32 words of 128 bytes
		return 256 << 10
	case "EVAL": // how clients use a master
		return 2 * longestUses
	case "SCAN": // some hundred names of whatever is there
		return 1 << 20
	case "HRANDFIELD": // whatever is there
		return 16 << 10
	}
	return 4 << 10
}
