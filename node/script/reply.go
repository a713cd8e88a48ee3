package script

import (
	"errors"
	"slices"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/quote"
)

// Decode returns the meaning of the reply to c: a value or a redis.Error.
func (c *Command) Decode(reply any) Answer {
	if refusal, refused := reply.(redis.Error); refused {
		if c.verb == plain {
			return Answer{Outcome: Failed, Err: refusal}
		}
		return Answer{Outcome: Failed, Err: Meaning(refusal)}
	}
	a, err := c.decode(reply)
	if err != nil {
		return Answer{Outcome: Failed, Err: err}
	}
	if a.Outcome == Done && a.Token == 0 {
		a.Token = c.proposal // which is 0 for other commands
	}
	if a.Token > MaxToken {
		return Answer{Outcome: Failed, Err: errBeyond}
	}
	return a
}

// decode returns the meaning of a value that is the reply to c, which the file of its script states.
func (c *Command) decode(reply any) (Answer, error) {
	switch c.verb {
	case plain:
		return Answer{Outcome: Done, Reply: reply}, nil
	case acquiring, registering:
		return decodeAcquire(reply)
	case renewing:
		return decodeRenew(reply, len(c.holds))
	case entering, leaving:
		return decodeEnter(reply)
	case raising:
		return decodeRaise(reply)
	case inspecting:
		if c.slots > 0 {
			return decodeLook(reply, c.slots)
		}
		return decodeInspect(reply)
	}
	return decodeRelease(reply)
}

func decodeAcquire(reply any) (Answer, error) {
	if n, ok := reply.(int64); ok && n >= 0 {
		return Answer{Outcome: Done, Token: n}, nil // Command.Decode knows what 0 means
	}
	return decodeTaken(reply)
}

func decodeEnter(reply any) (Answer, error) {
	switch reply {
	case int64(0):
		return Answer{Outcome: Refused}, nil
	case int64(1):
		return Answer{Outcome: Done}, nil
	}
	return decodeTaken(reply)
}

func decodeRaise(reply any) (Answer, error) {
	n, ok := reply.(int64)
	switch {
	case !ok || n < -1:
		return Answer{}, unexpected(reply)
	case n == 0:
		return Answer{Outcome: Done}, nil
	case n < 0:
		return Answer{Outcome: Refused}, nil
	}
	return Answer{Outcome: Refused, Token: n, Err: errCounter}, nil
}

// longestHolder is longer than any owner, of ours or of Redisson's: callers are told who has a lock.
const longestHolder = 256

func decodeTaken(reply any) (Answer, error) {
	r, ok := reply.([]any)
	if !ok || len(r) != 2 && len(r) != 3 {
		return Answer{}, unexpected(reply)
	}
	left, ok1 := r[0].(int64)
	holder, ok2 := r[1].([]byte)
	rank, ok3 := int64(0), true
	if len(r) == 3 {
		rank, ok3 = r[2].(int64)
	}
	if !ok1 || !ok2 || !ok3 || rank < 0 || len(holder) > longestHolder {
		return Answer{}, unexpected(reply)
	}
	return Answer{Outcome: Refused, Left: millis(left), Holder: string(holder), Rank: int(rank)}, nil
}

func decodeRenew(reply any, holds int) (Answer, error) {
	list, ok := reply.([]any)
	if !ok || len(list) != holds {
		return Answer{}, unexpected(reply)
	}
	a := Answer{Outcome: Done, Renewed: make([]Renewed, holds)}
	for i, r := range list {
		if refusal, refused := r.(redis.Error); refused {
			what, why := Errored, Meaning(refusal)
			if _, notLock := why.(*NotLockError); notLock {
				what = NotLock
			}
			a.spoil(i, what, why)
			continue
		}
		n, ok := r.(int64)
		if !ok || n < int64(Foreign) || n > int64(Healed) {
			a.spoil(i, Errored, unexpected(r))
			continue
		}
		a.Renewed[i] = Renewed(n)
	}
	return a, nil
}

func decodeRelease(reply any) (Answer, error) {
	n, ok := reply.(int64)
	if !ok {
		return Answer{}, unexpected(reply)
	}
	if n < 0 {
		return Answer{Outcome: Refused}, nil
	}
	return Answer{Outcome: Done}, nil
}

func decodeInspect(reply any) (Answer, error) {
	var left, token int64
	var holder, count string
	var readers, waiters []any
	if err := scan(reply, &left, &token, &holder, &count, &readers, &waiters); err != nil {
		return Answer{}, err
	}
	a := Answer{Outcome: Done, Token: token}
	if holder != "" {
		a.Holder, a.Left = holder, millis(left)
		a.Count, _ = strconv.Atoi(count) // 0 if it is no number
	}
	if len(readers)+len(waiters) == 0 {
		return a, nil
	}
	a.Crowd = new(Crowd)
	for pair := range slices.Chunk(readers, 2) {
		var r Reader
		if err := scan(pair, &r.Owner, &left); err != nil {
			return Answer{}, err
		}
		r.Left = millis(left)
		a.Crowd.Readers = append(a.Crowd.Readers, r)
	}
	for pair := range slices.Chunk(waiters, 2) {
		var w Waiter
		var kind string
		if err := scan(pair, &w.Owner, &kind); err != nil {
			return Answer{}, err
		}
		if kind == SharedHolder {
			w.Mode = Shared
		}
		a.Crowd.Waiters = append(a.Crowd.Waiters, w)
	}
	return a, nil
}

// scan reads a list into as many variables.
func scan(reply any, into ...any) error {
	list, err := redis.Values(reply, nil)
	if err != nil || len(list) != len(into) {
		return unexpected(reply)
	}
	if _, err := redis.Scan(list, into...); err != nil {
		return unexpected(reply)
	}
	return nil
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

// decodeLook returns what inspect.lua says of n slots.
func decodeLook(reply any, n int) (Answer, error) {
	list, err := redis.Int64s(reply, nil)
	if err != nil || len(list) > 3*n || len(list)%3 != 0 {
		return Answer{}, unexpected(reply)
	}
	a := Answer{Outcome: Done, Slots: make([]Slot, 0, len(list)/3)}
	next := int64(0)
	for three := range slices.Chunk(list, 3) {
		slot, left, queue := three[0], three[1], three[2]
		if slot < next || slot >= int64(n) || left < -2 || queue < 0 {
			return Answer{}, unexpected(reply)
		}
		next = slot + 1
		s := Slot{Slot: int(slot), Held: left != -2, Queue: int(queue)}
		if s.Held {
			s.Left = millis(left)
		}
		a.Slots = append(a.Slots, s)
	}
	return a, nil
}
