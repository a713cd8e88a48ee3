package redlock

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"example.com/redlock/multilock/clients"
)

// SetsConfig says over which sets of masters names are spread.
//
// A set has an ID, which stands for it in the choice of its names. It is the same in every process, and
// stays the same for as long as the set is used, also when its masters are replaced.
type SetsConfig struct {
	// Sets are the sets by ID, each with the Config of its masters.
	Sets map[string]Config

	// Now has the IDs of the sets that names are spread over, in any order. Default: all of Sets.
	Now []string

	// Next has the IDs of the sets that names will be spread over when the sets have changed. While it is
	// given, a name is locked in its set of Now and in that of Next. Default: the sets do not change.
	//
	// The sets change in two rollouts. After the first, every process has the old sets as Now and the new
	// ones as Next; after the second, every process has the new ones as Now, and no Next. Either rollout
	// can be taken back half-way. See docs/cost.md, "Changing the sets".
	Next []string
}

// Sets spreads names over several sets of masters, each of which has a [Client] of its own, and has
// the methods of a Client. Make it with NewSets, once per process. One set of masters does the work of
// every lock that is in it; more sets do more.
//
// A name belongs to the set for which the first 64 bits of the SHA-256 hash of the set's ID, a zero
// byte and the name, as a big-endian number, are largest (rendezvous hashing). This will not change.
// So processes that have the same IDs agree on where each name is, and a set that is added or removed
// moves as few names as can be.
//
// Sets with different IDs may have masters in common, which is no [ErrOverlap]: each name is locked in
// one of them, or in both.
//
// While SetsConfig.Next is given, a lock of a name that moves takes three round trips: one for each
// set, and one in which both agree on its fencing token. Its [Hold] is one, and ends when it is lost in
// either set.
type Sets struct {
	clients   map[string]*Client // by ID
	now, next []string           // IDs
}

// NewSets makes a Sets, with a client for each set as [New] makes it. Close must be called.
func NewSets(cfg SetsConfig) (*Sets, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	s := &Sets{clients: make(map[string]*Client), now: cfg.Now, next: cfg.Next}
	all := new(clients.Sets)
	for id, of := range cfg.Sets {
		c, err := newClient(of, clients.Part{ID: id, Now: cfg.Now, Next: cfg.Next, Of: all})
		if err != nil {
			_ = s.Close()
			return nil, fmt.Errorf("set %q: %w", id, err)
		}
		s.clients[id] = c
	}
	return s, nil
}

// fill fills in defaults, and refuses what no name could be spread over.
func (cfg *SetsConfig) fill() error {
	if len(cfg.Sets) == 0 {
		return errors.New("redlock: SetsConfig.Sets is empty")
	}
	if len(cfg.Now) == 0 && len(cfg.Next) == 0 {
		cfg.Now = slices.Collect(maps.Keys(cfg.Sets))
	}
	if len(cfg.Now) == 0 {
		return errors.New("redlock: SetsConfig.Next without Now")
	}
	unused := maps.Clone(cfg.Sets)
	for _, list := range []*[]string{&cfg.Now, &cfg.Next} {
		*list = slices.Sorted(slices.Values(*list))
		for i, id := range *list {
			_, known := cfg.Sets[id]
			switch {
			case !known:
				return fmt.Errorf("redlock: SetsConfig.Sets has no set %q", id)
			case id == "" || strings.ContainsRune(id, 0):
				return fmt.Errorf("redlock: the ID %q of a set is empty or has a zero byte", id)
			case i > 0 && id == (*list)[i-1]:
				return fmt.Errorf("redlock: set %q is listed twice", id)
			}
			delete(unused, id)
		}
	}
	for id := range unused {
		return fmt.Errorf("redlock: set %q is neither in SetsConfig.Now nor in Next", id)
	}
	return nil
}

// SetsOf returns the IDs of the sets in which name is locked: one, or two in order while it moves.
func (s *Sets) SetsOf(name string) []string {
	ids := []string{pick(s.now, name)}
	if len(s.next) > 0 {
		ids = append(ids, pick(s.next, name))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// at returns the clients at which name is locked, in the order of their sets' IDs. All processes lock
// it in this order, whichever way the sets change, so that they never wait for each other in a circle.
func (s *Sets) at(name string) []*Client {
	var at []*Client
	for _, id := range s.SetsOf(name) {
		at = append(at, s.clients[id])
	}
	return at
}

// pick returns which of the sets name belongs to.
func pick(ids []string, name string) (best string) {
	var most uint64
	var room [128]byte
	for _, id := range ids {
		sum := sha256.Sum256(append(append(append(room[:0], id...), 0), name...))
		if weight := binary.BigEndian.Uint64(sum[:]); weight > most || weight == most && id > best {
			best, most = id, weight
		}
	}
	return best
}

// Close closes the clients of all sets: see [Client.Close].
func (s *Sets) Close() error { return s.all((*Client).Close) }

// Ready waits until a majority of the masters of each set would grant a lock: see [Client.Ready]. The
// error joins those of the sets.
func (s *Sets) Ready(ctx context.Context) error {
	return s.all(func(c *Client) error { return c.Ready(ctx) })
}

// Conflict joins the conflicts of the sets with other clients: see [Client.Conflict].
func (s *Sets) Conflict() error { return s.all((*Client).Conflict) }

// admit lets a process take locks that was asked for name, or returns why it must not: others are established
// whose terms conflict with its own. They may be known to the masters of one set alone, so it publishes its terms in
// all, and waits for the sets of name.
func (s *Sets) admit(ctx context.Context, name string) error {
	at := s.at(name)
	if !slices.ContainsFunc(at, func(c *Client) bool { return !c.masters.Admitted() }) {
		return nil
	}
	for _, c := range at {
		if err := c.masters.Admit(ctx, name); errors.As(err, new(*ConflictError)) {
			return err
		}
	}
	return nil
}

// enters reports whether a caller that locks name enters again what it holds, which nobody keeps it from.
func (s *Sets) enters(ctx context.Context, name string) bool {
	return !slices.ContainsFunc(s.at(name), func(c *Client) bool { return !c.masters.Owns(name, c.owner(ctx, name)) })
}

// all runs f for all sets at the same time, and joins the errors.
func (s *Sets) all(f func(*Client) error) error {
	return errors.Join(atOnce(slices.Sorted(maps.Keys(s.clients)), func(id string) error {
		if err := f(s.clients[id]); err != nil {
			return fmt.Errorf("set %q: %w", id, err)
		}
		return nil
	})...)
}
