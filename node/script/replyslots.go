package script

import "time"

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
