package script

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/gomodule/redigo/redis"
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
	slots := c.mode == Permit
	switch c.verb {
	case plain:
		return Answer{Outcome: Done, Reply: reply}, nil
	case acquiring, registering:
		if slots {
			return decodeAcquireSlot(reply)
		}
		return decodeAcquire(reply)
	case renewing:
		return decodeRenew(reply, len(c.holds))
	case entering, leaving:
		return decodeEnter(reply)
	case raising:
		return decodeRaise(reply)
	case inspecting:
		if slots {
			return decodeInspectSlots(reply)
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
	if !ok1 || !ok2 || !ok3 || rank < 0 {
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
	list, ok := reply.([]any)
	if !ok || len(list) != 6 {
		return Answer{}, unexpected(reply)
	}
	left, ok1 := list[0].(int64)
	token, err := integer(list[1])
	holder, ok2 := list[2].([]byte)
	readers, ok3 := list[4].([]any)
	waiters, ok4 := list[5].([]any)
	if !ok1 || err != nil || !ok2 || !ok3 || !ok4 || len(readers)%2+len(waiters)%2 > 0 {
		return Answer{}, unexpected(reply)
	}
	a := Answer{Outcome: Done, Token: token}
	if len(holder) > 0 {
		count, _ := integer(list[3]) // 0 if it is no number
		a.Holder, a.Left, a.Count = string(holder), millis(left), int(count)
	}
	var crowd Crowd
	for pair := range slices.Chunk(readers, 2) {
		owner, ok1 := pair[0].([]byte)
		left, ok2 := pair[1].(int64)
		if !ok1 || !ok2 {
			return Answer{}, unexpected(reply)
		}
		crowd.Readers = append(crowd.Readers, Reader{string(owner), millis(left)})
	}
	for pair := range slices.Chunk(waiters, 2) {
		owner, ok1 := pair[0].([]byte)
		kind, ok2 := pair[1].([]byte)
		if !ok1 || !ok2 {
			return Answer{}, unexpected(reply)
		}
		mode := Exclusive
		if string(kind) == SharedHolder {
			mode = Shared
		}
		crowd.Waiters = append(crowd.Waiters, Waiter{Owner: string(owner), Mode: mode})
	}
	if len(readers)+len(waiters) > 0 {
		a.Crowd = &crowd
	}
	return a, nil
}

func integer(reply any) (int64, error) {
	b, ok := reply.([]byte)
	if !ok {
		return 0, unexpected(reply)
	}
	return strconv.ParseInt(string(b), 10, 64)
}

func millis(left int64) time.Duration {
	if left < 0 || left > Never.Milliseconds() {
		return Never
	}
	return time.Duration(left) * time.Millisecond
}

func unexpected(reply any) error {
	return fmt.Errorf("unexpected reply to a script: %T %.100v", reply, reply)
}

// decodeAcquireSlot returns the meaning of the answers of acquireslot.lua.
func decodeAcquireSlot(reply any) (Answer, error) {
	if slot, ok := reply.(int64); ok && slot >= 0 {
		return Answer{Outcome: Done, Slot: int(slot)}, nil // Command.Decode knows the token
	}
	if r, ok := reply.([]any); ok && len(r) == 2 {
		slot, ok1 := r[0].(int64)
		token, ok2 := r[1].(int64)
		if ok1 && ok2 && slot >= 0 && token > 0 {
			return Answer{Outcome: Done, Slot: int(slot), Token: token}, nil
		}
	}
	return decodeTaken(reply)
}

// decodeInspectSlots returns the meaning of the answer of inspectslots.lua.
func decodeInspectSlots(reply any) (Answer, error) {
	list, ok := reply.([]any)
	if !ok || len(list) != 3 {
		return Answer{}, unexpected(reply)
	}
	token, err := integer(list[0])
	slots, ok1 := list[1].([]any)
	waiters, ok2 := list[2].([]any)
	if err != nil || !ok1 || !ok2 || len(slots)%4 != 0 || len(waiters)%2 != 0 {
		return Answer{}, unexpected(reply)
	}
	found := new(Permits)
	for s := slots; len(s) > 0; s = s[4:] {
		number, ok1 := s[0].(int64)
		owner, ok2 := s[1].([]byte)
		left, ok3 := s[2].(int64)
		counter, err := integer(s[3])
		if !ok1 || !ok2 || !ok3 || left < 0 || err != nil {
			return Answer{}, unexpected(reply)
		}
		found.Slots = append(found.Slots, Slot{
			Slot: int(number), Owner: string(owner), Left: time.Duration(left) * time.Millisecond, Token: counter,
		})
	}
	for w := waiters; len(w) > 0; w = w[2:] {
		owner, ok := w[0].([]byte)
		if !ok {
			return Answer{}, unexpected(reply)
		}
		permits, _ := integer(w[1]) // 0 if its ask is stale
		found.Waiters = append(found.Waiters, Waiter{Owner: string(owner), Permits: int(permits)})
	}
	return Answer{Outcome: Done, Token: token, Permits: found}, nil
}
