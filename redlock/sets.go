package redlock

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"example.com/redlock/multilock"
)

// Set is one of the sets of masters that [Sets] spreads names over.
type Set struct {
	// ID stands for the set in the choice of its names. It is the same in every process, and stays the
	// same for as long as the set is used, also when its masters move.
	ID string

	// Client has the masters of the set. It belongs to the Sets, which closes it.
	Client *Client
}

// Sets spreads names over several sets of masters, each of which has a [Client] of its own, and has
// the methods of a Client. Make it with NewSets, once per process. One set of masters does the work of
// every lock that is in it; more sets do more.
//
// A name belongs to the set for which the first 64 bits of the SHA-256 hash of the set's ID, a zero
// byte and the name, as a big-endian number, are largest (rendezvous hashing). This will not change.
// So processes that have the same IDs agree on where each name is, in whatever order they list the
// sets, and a set that is added or removed moves as few names as can be.
//
// Sets with different IDs may have masters in common, which is no [ErrOverlap]: each name is locked in
// one of them.
//
// [Sets.Change] and [Sets.Finish] change the sets while names are locked.
type Sets struct {
	mu      sync.Mutex
	route   *route // is replaced, and does not change
	settled bool   // Change has returned
	leaving []Set  // that are to be closed by Finish
	uses    map[*multilock.Hold][]*use
}

// NewSets makes a Sets of sets, which have different IDs. Close must be called, and closes their
// clients.
func NewSets(sets ...Set) (*Sets, error) {
	if err := checkSets(sets); err != nil {
		return nil, err
	}
	takePart(sets)
	return &Sets{route: &route{now: slices.Clone(sets)}, uses: make(map[*multilock.Hold][]*use)}, nil
}

// takePart tells the clients of sets which set each has.
func takePart(sets []Set) {
	for _, set := range sets {
		set.Client.masters.Part(set.ID)
	}
}

// checkSets refuses what no name could be spread over.
func checkSets(sets []Set) error {
	if len(sets) == 0 {
		return errors.New("redlock: no set of masters")
	}
	for i, s := range sets {
		switch {
		case s.ID == "" || strings.ContainsRune(s.ID, 0):
			return fmt.Errorf("redlock: the ID %q of a set is empty or has a zero byte", s.ID)
		case s.Client == nil:
			return fmt.Errorf("redlock: set %q has no Client", s.ID)
		}
		for _, other := range sets[:i] {
			if other.ID == s.ID || other.Client == s.Client {
				return fmt.Errorf("redlock: sets %q and %q have the same ID or the same Client", other.ID, s.ID)
			}
		}
	}
	return nil
}

// Close closes the clients of all sets: see [Client.Close].
func (s *Sets) Close() error {
	return s.all(func(set Set) error { return set.Client.Close() })
}

// all does f to all sets at the same time, and joins what comes of it.
func (s *Sets) all(f func(Set) error) error {
	s.mu.Lock()
	sets := append(s.route.sets(), s.leaving...)
	s.mu.Unlock()
	return together(sets, f)
}

// together does f to sets at the same time, and joins what comes of it.
func together(sets []Set, f func(Set) error) error {
	errs := make([]error, len(sets))
	var wg sync.WaitGroup
	for i, set := range sets {
		wg.Go(func() {
			if err := f(set); err != nil {
				errs[i] = fmt.Errorf("set %q: %w", set.ID, err)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// SetOf returns the ID of the set that name belongs to. While the sets are being changed, it is the one
// that name moves from.
func (s *Sets) SetOf(name string) string {
	return pick(s.routed().now, name).ID
}

// routed returns where names are locked.
func (s *Sets) routed() *route {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.route
}

// route says where names are locked.
type route struct {
	now  []Set
	next []Set // where names are locked as well, nil unless the sets are being changed
}

// sets returns all sets, each once.
func (r *route) sets() []Set {
	all := slices.Clone(r.now)
	for _, set := range r.next {
		if !slices.Contains(r.now, set) {
			all = append(all, set)
		}
	}
	return all
}

// at returns the clients at which name is locked, the old one before the new one.
func (r *route) at(name string) []*Client {
	old := pick(r.now, name).Client
	if r.next != nil {
		if next := pick(r.next, name).Client; next != old {
			return []*Client{old, next}
		}
	}
	return []*Client{old}
}

// pick returns the set of name.
func pick(sets []Set, name string) (best Set) {
	var most uint64
	var room [128]byte
	for _, set := range sets {
		sum := sha256.Sum256(append(append(append(room[:0], set.ID...), 0), name...))
		weight := binary.BigEndian.Uint64(sum[:])
		if best.Client == nil || weight > most || weight == most && set.ID > best.ID {
			best, most = set, weight
		}
	}
	return best
}

// items returns what is locked for names, in order.
func (r *route) items(w want, names []string) ([]item, error) {
	names = slices.Clone(names)
	slices.Sort(names)
	names = slices.Compact(names)
	if err := checkNames(names); err != nil {
		return nil, err
	}
	items := make([]item, 0, len(names))
	for _, name := range names {
		for _, c := range r.at(name) {
			it := item{c, w}
			it.name, it.wait = name, false // as far as it tries several at the same time
			if it.watch {
				it.lease = c.cfg.Lease
			}
			if err := c.cfg.checkLease("lease", it.lease); err != nil {
				return nil, err
			}
			items = append(items, it)
		}
	}
	return items, nil
}
