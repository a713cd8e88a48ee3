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

	"example.com/redlock/internal/beside"
	"example.com/redlock/multilock/clients"
	"example.com/redlock/multilock/terms"
)

// SetsConfig says over which sets of masters names are spread.
//
// A set has an ID, which stands for it in the choice of its names. It is the same in every process, and
// stays the same for as long as the set is used, also when its masters are replaced.
type SetsConfig struct {
	// Sets are the sets by ID, which has at most 100 bytes, each with the Config of its masters. Each is in Now or in Next.
	Sets map[string]Config

	// Now has the IDs of the sets that names are spread over, in any order. Default: all of Sets.
	Now []string

	// Next has the IDs of the sets that names will be spread over when the sets have changed. While it is
	// given, a name is locked in its set of Now and in that of Next. Default: the sets do not change.
	//
	// The sets change in two rollouts. After the first, every process has the old sets as Now and the new
	// ones as Next; after the second, every process has the new ones as Now, and no Next. Either rollout
	// can be taken back half-way. See docs/changes.md, "Change the sets".
	Next []string
}

// NewSets makes a client that spreads names over several sets of masters, and otherwise does what one of
// [New] does. One set of masters does the work of every lock that is in it; more sets do more. Call Close when done.
//
// A name belongs to the set for which the first 64 bits of the SHA-256 hash of the set's ID, a zero
// byte and the name, with its prefix, as a big-endian number, are largest (rendezvous hashing). This will not change.
// So processes that have the same IDs agree on where each name is, and a set that is added or removed
// moves as few names as can be.
//
// Sets with different IDs may have masters in common, which is no [ErrOverlap]: each name is locked in
// one of them. But those between which names move must not, since a name that is locked in both waits for itself at
// each master that is in both. NewSets refuses them where a URL or a pool is the same, and a lock of such a name does
// where one server is found in both.
//
// While SetsConfig.Next is given, a lock of a name that moves takes three round trips: one for each
// set, and one in which both agree on its fencing token. Its [Hold] is one, and ends when it is lost in
// either set: during a TryLock, that is ErrLost. A permit of such a name is one in each of its two sets, so never more
// than so many are held; its Slot and Token are those in the first of the sets, and cannot be compared with those of
// permits that are taken in the other set alone: a resource that depends on them is better given a new name.
func NewSets(cfg SetsConfig) (*Client, error) {
	if err := cfg.fill(); err != nil {
		return nil, err
	}
	c := &Client{sets: make(map[string]*set), now: cfg.Now, next: cfg.Next}
	all := new(clients.Sets)
	for id, of := range cfg.Sets {
		s, err := newSet(of, clients.Part{ID: id, Now: cfg.Now, Next: cfg.Next, Of: all})
		if err != nil {
			_ = c.Close()
			return nil, fmt.Errorf("set %q: %w", id, err)
		}
		c.sets[id] = s
	}
	first := c.sets[cfg.Now[0]].cfg
	c.prefix, c.log = first.Prefix, first.Logger
	return c, nil
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
			case id == "" || strings.ContainsRune(id, 0) || len(id) > maxClientName:
				return fmt.Errorf("redlock: the ID %.120q of a set is empty or has a zero byte, or more than %d bytes", id, maxClientName)
			case i > 0 && id == (*list)[i-1]:
				return fmt.Errorf("redlock: set %q is listed twice", id)
			}
			delete(unused, id)
		}
	}
	for id := range unused {
		return fmt.Errorf("redlock: set %q is neither in SetsConfig.Now nor in Next", id)
	}
	first := cfg.Now[0]
	for id, of := range cfg.Sets {
		if prefix := cfg.Sets[first].Prefix; of.Prefix != prefix {
			return fmt.Errorf("redlock: Config.Prefix is %q in set %q, and %q in set %q: a name that moves would be two", prefix, first, of.Prefix, id)
		}
	}
	for _, from := range cfg.Now {
		for _, to := range cfg.Next {
			moves := from != to && (!slices.Contains(cfg.Next, from) || !slices.Contains(cfg.Now, to))
			a, b := cfg.Sets[from], cfg.Sets[to]
			if moves && (share(a.Masters, b.Masters) || share(a.Pools, b.Pools)) {
				return fmt.Errorf("redlock: names move from set %q to set %q, which have a master in common: a lock would wait for itself there", from, to)
			}
		}
	}
	return nil
}

// apart returns an error if s and other, as far as they are connected, lead to the same server: then no name can be
// locked in both.
func (s *set) apart(other *set) error {
	for _, n := range s.masters.All.Nodes {
		p := n.Process()
		for _, o := range other.masters.All.Nodes {
			if q := o.Process(); p.Run != "" && p.Run == q.Run && p.DB == q.DB {
				return fmt.Errorf("redlock: names move between sets that have a master in common, %s in one and %s in the other: a lock would wait for itself there", n.Name(), o.Name())
			}
		}
	}
	return nil
}

// share reports whether the lists have an element in common.
func share[T comparable](a, b []T) bool {
	return slices.ContainsFunc(a, func(one T) bool { return slices.Contains(b, one) })
}

// setsOf returns the IDs of the sets in which name is locked: one, or two in order while it moves.
func (c *Client) setsOf(name string) []string {
	key := c.prefix + name // so that clients without a prefix agree
	ids := []string{pick(c.now, key)}
	if len(c.next) > 0 {
		ids = append(ids, pick(c.next, key))
	}
	slices.Sort(ids)
	return slices.Compact(ids)
}

// at returns the sets in which name is locked, in the order of their IDs. All processes lock it in
// this order, whichever way the sets change, so that they never wait for each other in a circle.
func (c *Client) at(name string) []*set {
	if len(c.sets) == 1 {
		return []*set{c.sets[c.now[0]]}
	}
	var at []*set
	for _, id := range c.setsOf(name) {
		at = append(at, c.sets[id])
	}
	return at
}

// pick returns the set that name belongs to.
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

// admit lets the client take the locks of items, or returns why it must not: other clients are established whose terms
// conflict with its own. The masters of one set alone may know of them, so the client publishes its terms in all sets,
// and waits for those of items. What the caller enters is not asked for.
func (c *Client) admit(ctx context.Context, items []item) error {
	if c.sets[""] != nil {
		return nil // its only set asks by itself
	}
	for _, it := range items {
		if owner := ownerOf(ctx); it.req.Permits == 0 && owner != nil && it.masters.Owns(it.req.Key, owner) {
			continue
		}
		if err := it.masters.Clients.Admit(ctx, it.op(), it.req.Key); errors.As(err, new(*terms.ConflictError)) {
			return err
		}
	}
	return nil
}

// all runs f for all sets at the same time, and joins the errors, each of which names its set if there are several.
func (c *Client) all(f func(*set) error) error {
	if len(c.sets) == 0 {
		return errNoClient
	}
	return joined(beside.All(slices.Sorted(maps.Keys(c.sets)), func(id string) error { return c.in(id, f) }))
}

// in runs f for a set, and returns its error as users see it.
func (c *Client) in(id string, f func(*set) error) error {
	err := outward(f(c.sets[id]))
	if err != nil && id != "" {
		return &setError{id, err}
	}
	return err
}
