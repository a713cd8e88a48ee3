package script

import (
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/redlock/node/script/twin"
)

// TestTwinSlots is TestTwin for semaphores. Callers do not agree on how many permits there are.
//
// Replay one seed: go test ./node/script -run 'TestTwinSlots/seed=17$' -v
func TestTwinSlots(t *testing.T) {
	walks(t, 1, func(w *walk) func() {
		w.semaphores = true
		return slotWalk{w}.step
	})
}

// slotWalk is a random walk on semaphores.
type slotWalk struct{ *walk }

// asker is the owner of e.
func (w slotWalk) asker(k int, e twin.Entry) *Owner {
	return NewPermit(w.names[k], w.text(e.Owner), int(e.Permits), int(e.Start))
}

// slotOf is mostly the slot that o has, or any.
func (w slotWalk) slotOf(k int, o twin.Owner) int {
	if at := slices.IndexFunc(w.slots[k].Slots[:], func(at twin.Slot) bool { return at.Owner == o }); at >= 0 && w.r.IntN(3) > 0 {
		return at
	}
	return w.r.IntN(twin.MaxSlots)
}

// draw draws who does something, and in which slot.
func (w slotWalk) draw(k int) (owner twin.Owner, slot int, o *Owner) {
	owner = w.somebody(k)
	slot = w.slotOf(k, owner)
	return owner, slot, NewPermit(w.names[k], w.text(owner), twin.MaxSlots, 0).InSlot(slot)
}

// step does the same to both.
func (w slotWalk) step() {
	k := w.r.IntN(6) / 5 // mostly the first
	s, now, r := &w.slots[k], w.now(), w.r
	lease := 1 + r.Int64N(600)
	s.Expire(now)
	switch r.IntN(21) {
	case 0, 1, 2, 3, 4:
		e := w.waiter(k)
		w.compare(k, w.asker(k, e).AcquireOrRegister(millis(lease), entry(e)), s.AcquireOrRegister(now, w.hear, lease, e))
	case 5:
		e := w.waiter(k)
		w.compare(k, w.asker(k, e).Register(entry(e)), s.Register(now, e))
	case 6, 7, 8:
		e := twin.Entry{Owner: w.somebody(k), Proposal: w.proposal(k)}
		w.wants(&e)
		w.compare(k, w.asker(k, e).Acquire(millis(lease), e.Proposal), s.Acquire(now, w.hear, lease, e))
	case 9, 10, 11, 12:
		w.release(k)
	case 13:
		owner, slot, o := w.draw(k)
		token := w.near(s.Slots[slot].Counter, 3)
		w.compare(k, o.Raise(millis(lease), token), s.Raise(now, owner, slot, token))
	case 14, 15, 16:
		w.renew()
	case 17, 18:
		w.sleep()
	case 19:
		w.inspect(k)
	default:
		w.others(k)
	}
}

// release is one of the commands of releaseslot.lua, at a guarded master or not.
func (w slotWalk) release(k int) {
	s, now, r := &w.slots[k], w.now(), w.r
	owner, _, o := w.draw(k)
	since, token := w.since(k, owner), w.proposal(k)
	kind, next := r.IntN(9), twin.Entry{Owner: owner}
	if w.room(k) && kind < 5 {
		next = w.waiter(k)
	}
	guard, there := r.IntN(6) == 0, token
	if guard {
		there = twin.NoToken
	}
	var cmd *Command
	var want twin.Reply
	switch {
	case kind < 5 && next.Owner != owner:
		cmd = o.ReleaseTo(token, since, w.asker(k, next), entry(next))
		if since != 0 && next.Since == since {
			want = s.GiveWay(now, w.hear, owner, there, next)
		} else {
			want = s.ReleaseTo(now, w.hear, owner, there, next)
		}
	case kind == 5:
		cmd = o.Yield(since)
		want = s.Release(now, w.hear, owner, twin.NoToken)
	case kind == 6 && w.mayForce(k):
		slot := r.IntN(2*twin.MaxSlots) - twin.MaxSlots
		if cmd = ForcePermits(w.names[k], token); slot >= 0 {
			cmd = ForceSlot(w.names[k], slot, token)
		}
		want = s.Force(now, w.hear, slot, there)
	default:
		cmd = o.Release(token, since)
		want = s.Release(now, w.hear, owner, there)
	}
	if guard {
		cmd = guarded(cmd)
	}
	w.compare(k, cmd, want)
}

// renew renews a permit, alone in its command so that its hand-offs are known.
func (w slotWalk) renew() {
	lease, heal, k := 1+w.r.Int64N(600), w.r.IntN(4) > 0, w.r.IntN(6)/5
	owner, slot, o := w.draw(k)
	token := w.proposal(k)
	cmd := Renew(millis(lease), []Renewal{{Owner: o, Token: token}})
	if !heal {
		cmd = guarded(cmd)
	}
	reply := w.slots[k].Renew(w.now(), w.hear, owner, slot, lease, token, heal)
	w.told(k, reply)
	w.run(cmd, func(got Answer) string {
		if got.Outcome != Done || len(got.Renewed) != 1 || got.Renewed[0] != Renewed(reply.Renewed) {
			return fmt.Sprintf("answered %+v, want %v", got, reply.Renewed)
		}
		return ""
	})
}

// inspect compares what a master tells with what its twin has.
func (w slotWalk) inspect(k int) {
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

// others is what is done to a master by somebody else.
func (w slotWalk) others(k int) {
	name, slots := w.names[k], &w.slots[k].Slots
	switch n := w.r.IntN(8); n {
	case 0:
		w.do("FLUSHALL")
		w.slots = [2]twin.Slots{}
	case 1, 2:
		w.do("DEL", slotsOf(name))
		if w.r.IntN(2) == 0 {
			w.do("DEL", slotsOf(name)+slotEnds)
		}
		for i := range slots {
			slots[i].Owner, slots[i].Expires = 0, 0
		}
	case 3:
		w.do("DEL", belonging(slotFencePrefix, name))
		for i := range slots {
			slots[i].Counter = 0
		}
	case 4:
		slot := w.r.IntN(twin.MaxSlots)
		slots[slot].Counter = w.far()
		w.do("HSET", belonging(slotFencePrefix, name), slot, slots[slot].Counter)
	}
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
