package script

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"example.com/redlock/node/script/twin"
)

// slotOf is mostly the slot that o has, or any.
func (w *walk) slotOf(k int, o twin.Owner) int {
	if at := slices.IndexFunc(w.slots[k].Slots[:], func(at twin.Slot) bool { return at.Owner == o }); at >= 0 && w.r.IntN(3) > 0 {
		return at
	}
	return w.r.IntN(twin.MaxSlots)
}

// inspectSlots compares what a master tells with what its twin has.
func (w *walk) inspectSlots(k int) {
	s, want := w.slots[k], Answer{Outcome: Done, Permits: new(Permits)}
	for i, at := range s.Slots {
		want.Token = max(want.Token, at.Counter)
		if at.Owner != 0 {
			want.Permits.Slots = append(want.Permits.Slots, Slot{i, w.text(at.Owner), millis(at.Expires - w.now()), at.Counter})
		}
	}
	for _, e := range s.Queue {
		if e.Owner == 0 {
			break
		}
		if e.Stale <= w.now() {
			e.Permits = 0
		}
		want.Permits.Waiters = append(want.Permits.Waiters, Waiter{Owner: w.text(e.Owner), Permits: int(e.Permits)})
	}
	if want.Token > MaxToken {
		want = Answer{Outcome: Failed, Err: errBeyond}
	}
	w.run(InspectPermits(w.names[k]), func(got Answer) string {
		if reflect.DeepEqual(got, want) {
			return ""
		}
		return fmt.Sprintf("answered %+v of %+v, want %+v of %+v", got, got.Permits, want, want.Permits)
	})
}

// digest stands for holders, as permit.lua has it.
func (w *walk) digest(holders [twin.MaxSlots]twin.Owner) string {
	var texts []string
	for _, o := range holders {
		if o != 0 {
			texts = append(texts, w.text(o))
		}
	}
	return sumOf(texts)
}

// sumOf is the sum of what stands for each owner, as permit.lua has it.
func sumOf(owners []string) string {
	sum := int64(0)
	for _, owner := range owners {
		text := sha1.Sum([]byte(owner))
		part, _ := strconv.ParseInt(hex.EncodeToString(text[:5]), 16, 64)
		sum += part + 1
	}
	return fmt.Sprint(-sum)
}

// realSlots adds what the master has of the slots of the k-th semaphore, and takes the keys away that it has them
// at.
func (w *walk) realSlots(k int, keys map[string]string) {
	m, now := w.h.m, w.now()
	slotsKey := slotsOf(w.names[k])
	var slots strings.Builder
	there, ends, last := m.ZSet(slotsKey), m.ZSet(slotsKey+slotEnds), int64(0)
	var owners []string
	for slot := range twin.MaxSlots {
		for owner, at := range there {
			if at != float64(slot) {
				continue
			}
			owners = append(owners, owner)
			if left := int64(ends[owner])/1000 - now; left > 0 {
				fmt.Fprintf(&slots, "%d: %s for %d; ", slot, owner, left)
				last = max(last, left)
			}
		}
	}
	if sum := sumOf(owners); len(there) != 0 && (len(there) != len(owners)+1 || fmt.Sprintf("%.0f", there["sum"]) != sum) {
		fmt.Fprintf(&slots, "in %v, want a sum of %s", there, sum)
	}
	if m.TTL(slotsKey) < millis(last) || m.TTL(slotsKey+slotEnds) < m.TTL(slotsKey) {
		fmt.Fprintf(&slots, "which is gone in %v", m.TTL(slotsKey))
	}
	delete(keys, slotsKey+slotEnds)
	if keys[slotsKey] = slots.String(); slots.Len() == 0 {
		delete(keys, slotsKey)
	}
}

// pictureSlots adds what the twin of the k-th semaphore has at each key.
func (w *walk) pictureSlots(k int) {
	s, name, now := &w.slots[k], w.names[k], w.now()
	s.Expire(now)
	var slots strings.Builder
	var counters []string
	for i, at := range s.Slots {
		if at.Owner != 0 {
			fmt.Fprintf(&slots, "%d: %s for %d; ", i, w.text(at.Owner), at.Expires-now)
		}
		if at.Counter != 0 {
			counters = append(counters, fmt.Sprintf("%d=%d", i, at.Counter))
		}
	}
	if slots.Len() > 0 {
		w.want[slotsOf(name)] = slots.String()
	}
	if len(counters) > 0 {
		w.want[belonging(slotFencePrefix, name)] = expiring(strings.Join(counters, ", "), 0)
	}
}
