package multilock

import (
	"math"
	"slices"
	"strings"
	"time"

	"example.com/redlock/redlocktest"
)

// simHolds is who has what in a simulation.
type simHolds struct {
	live   map[target][]*Hold // who was granted each, and had not lost it when somebody last looked
	tokens map[simCounter]simTokens
}

// simCounter is what has tokens of its own: a lock, or a slot.
type simCounter struct {
	target
	slot int
}

// simTokens are the largest ones so far.
type simTokens struct{ written, read int64 }

// simPermits is the most that a client counts of a semaphore.
const simPermits = 3

// permits is how many permits the client says that a semaphore has: clients differ while that is
// changed.
func (c *simClient) permits() int { return simPermits - c.i%2 }

// holds notes that a caller was granted a hold, and checks it against the others of its name.
func (s *sim) holds(h *Hold) {
	s.note("%s holds %s for %v, token %d (shared: %v, slot %d of a semaphore: %v)",
		h.Owner(), h.Name(), h.Remaining(), h.Token(), h.Shared(), h.Slot(), h.semaphore)
	s.count(granting)
	s.mu.Lock()
	defer s.mu.Unlock()
	if slices.Contains(s.live[h.target], h) {
		return // it was entered again
	}
	s.live[h.target] = append(s.live[h.target], h)
	s.meetLocked(h)

	counter := simCounter{h.target, h.Slot()}
	before, after := s.tokens[counter], s.tokens[counter]
	if h.Shared() {
		s.tally[sharing]++
		after.read = max(after.read, h.Token())
		if h.Token() < before.written {
			s.t.Errorf("%v: reader %s has token %d of %q, want one of %d or more", time.Since(s.start), h.Owner(), h.Token(), h.Name(), before.written)
		}
	} else {
		after.written = h.Token()
		if h.Token() <= max(before.written, before.read) {
			s.t.Errorf("%v: %s has token %d of %q, want one above %+v", time.Since(s.start), h.Owner(), h.Token(), h.Name(), before)
		}
	}
	s.tokens[counter] = after
	if h.semaphore {
		s.tally[permitting]++
	}
}

// alone checks that nobody has a name, or a slot, beside h, who must not.
func (s *sim) alone(h *Hold) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.meetLocked(h)
}

// meetLocked checks h against all who have its name.
func (s *sim) meetLocked(h *Hold) {
	live := slices.DeleteFunc(s.live[h.target], func(h *Hold) bool { return h.Check() != nil })
	s.live[h.target] = live
	if h.Check() != nil {
		return
	}
	if h.semaphore && len(live) > simPermits {
		s.t.Errorf("%v: %d permits of %q are held", time.Since(s.start), len(live), h.Name())
	}
	for _, o := range live {
		if o == h || h.Shared() && o.Shared() || h.semaphore && h.Slot() != o.Slot() {
			continue
		}
		s.t.Errorf("%v: %s holds %q beside %s (slots %d, %d)", time.Since(s.start), h.Owner(), h.Name(), o.Owner(), h.Slot(), o.Slot())
	}
}

// wantFree checks that no master has anything of a client, of those that vanished only with all.
func (s *sim) wantFree(when string, all bool) {
	for _, m := range s.fleet.Masters() {
		for _, key := range m.Keys() {
			for _, owner := range ownersAt(m, key) {
				for _, c := range s.clients {
					if c.m.owners.ours(owner) && (all || !c.vanished) {
						s.t.Errorf("%s: %s has in %s, of client %d: %s (%v %v, for %v)", when, m.Name(), key, c.i, owner, m.Hash(key), m.ZSet(key), m.TTL(key))
					}
				}
			}
		}
	}
}

// ownersAt returns the owners that have something in a key of a master, and have not lost it by time.
func ownersAt(m *redlocktest.Master, key string) (owners []string) {
	ends := m.ZSet(key + "ends") // of slots
	for owner, score := range m.ZSet(key) {
		end := math.Inf(1)
		switch {
		case strings.HasPrefix(key, "redlock_read:"):
			end = score * 1000
		case strings.HasPrefix(key, "redlock_slots:") && strings.HasSuffix(key, "ends"):
			end = score
		case strings.HasPrefix(key, "redlock_slots:"):
			end = ends[owner]
		}
		if end > float64(time.Now().UnixMicro()) {
			owners = append(owners, owner)
		}
	}
	for field := range m.Hash(key) {
		owners = append(owners, field)
	}
	return owners
}
