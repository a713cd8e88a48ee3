package clients

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node/script"
)

// cache is what the client knows of others whose owners it has met: it looks each up once.
type cache struct {
	mu      sync.Mutex
	clients map[string]known         // by uuid
	grants  map[string]time.Time     // by owner: when it got its lock, by the masters' clocks
	asked   map[string]clock.Instant // what was asked for last: clients, and owners

	looking sync.Mutex                 // while a client is looked up
	looked  map[string]<-chan struct{} // by uuid: closed once it was
}

// known is a client's record, as it was read.
type known struct {
	info terms.ClientInfo
	at   clock.Instant
}

const (
	// maxKnown bounds what a cache keeps of each kind. It begins anew then.
	maxKnown = 1000

	// askAgain is how long what was not found is not asked for again.
	askAgain = 5 * time.Second
)

// Of returns the client of owner, empty if it is none of this library's.
func Of(owner string) string {
	client, number, ok := strings.Cut(owner, ":")
	if !ok || !strings.HasPrefix(number, "r") && !script.Keeps(owner) {
		return ""
	}
	return client
}

// client returns the record of client, nil if it is not known.
func (c *cache) client(client string) *terms.ClientInfo {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.clients[client]
	if !ok {
		return nil
	}
	info := k.info
	info.Seen += clock.Since(k.at)
	return &info
}

// since returns when owner got its lock, by the masters' clocks; the zero time if that is not known.
func (c *cache) since(owner string) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.grants[owner]
}

// mayAsk reports whether what is to be asked for, and notes that it is.
func (c *cache) mayAsk(what string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := clock.Now()
	if at, ok := c.asked[what]; ok && now.Sub(at) < askAgain {
		return false
	}
	put(&c.asked, what, now)
	return true
}

// put adds to a map of the directory.
func put[V any](m *map[string]V, key string, v V) {
	if *m == nil || len(*m) >= maxKnown {
		*m = make(map[string]V)
	}
	(*m)[key] = v
}

// lookUp asks for the record of client, unless it is known or was asked for lately. It returns a channel that is
// closed once the record is known, or no master has it; nil if there is nothing to wait for.
//
// Cost: one command to each master.
func (d *Directory) lookUp(client string) <-chan struct{} {
	c := &d.cache
	if client == "" || client == d.All.ID || c.client(client) != nil {
		return nil
	}
	c.looking.Lock()
	defer c.looking.Unlock()
	if !c.mayAsk(client) {
		return c.looked[client]
	}
	asked := d.All.Ask(script.LookUp(client), func(b *poll.Ballot) bool {
		for i := range b.N {
			if r, ok := script.ReadRecord(b.At(i).Reply); ok {
				info := d.info(client, r)
				c.mu.Lock()
				defer c.mu.Unlock()
				put(&c.clients, client, known{*info, clock.Now()})
				return true
			}
		}
		return false
	})
	put(&c.looked, client, asked.Done)
	return asked.Done
}

// lookAt asks since when owner has the lock at key, as lookUp does for a client: its fencing token is
// the time at which it got the lock.
//
// Cost: one script call on each master.
func (d *Directory) lookAt(key, owner string) <-chan struct{} {
	c := &d.cache
	if !c.since(owner).IsZero() || !c.mayAsk(owner) {
		return nil
	}
	return d.All.Ask(script.Inspect(key), func(b *poll.Ballot) bool {
		var tokens []int64
		for i := range b.N {
			if a := b.At(i); a.Holder == owner {
				tokens = append(tokens, a.Token)
			}
		}
		if !d.All.Majority(len(tokens)) {
			return false
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		put(&c.grants, owner, Granted(tokens))
		return true
	}).Done
}

// Granted returns when a lock was granted, by what its masters have for its fencing token. Those of a
// minority may have another number, or none.
func Granted(tokens []int64) time.Time {
	slices.Sort(tokens)
	return time.UnixMicro(tokens[(len(tokens)-1)/2])
}

// tooLong is the longest time that a lock is said to be held for. What is longer is no time.
const tooLong = 10 * 365 * 24 * time.Hour

// HeldFor returns how long ago since was by the masters' clocks, 0 if that makes no sense.
func (d *Directory) HeldFor(since time.Time) time.Duration {
	if t := d.All.Now().Sub(since); !since.IsZero() && t > 0 && t < tooLong {
		return t
	}
	return 0
}

const (
	// Callers that wait learn who keeps them from a lock only once it has done so for a while. Most locks
	// change hands sooner, and of a thousand clients that wait each would ask for a thousand others.
	namedAfter = 100 * time.Millisecond // its client is looked up
	timedAfter = time.Second            // and since when it has the lock
)

// Foreign reports whether owner is one of another client, which callers that it keeps from a lock may want
// to know.
func (d *Directory) Foreign(owner string) bool {
	client := Of(owner)
	return client != "" && client != d.All.ID && d.introduced()
}

// Blocked is told for how long owner, a Foreign one, has kept callers from the lock at key.
func (d *Directory) Blocked(key, owner string, kept time.Duration) {
	if kept >= namedAfter {
		d.lookUp(Of(owner))
	}
	if kept >= timedAfter {
		d.lookAt(key, owner)
	}
}

// self returns what the client says of itself.
func (d *Directory) self() *terms.ClientInfo {
	holds, waits := d.own.Busy()
	d.sets.mu.Lock()
	defer d.sets.mu.Unlock()
	return &terms.ClientInfo{Record: d.id.now(d.ownTermsLocked(clock.Now()), holds, waits), ID: d.All.ID}
}

// who returns the client of owner as far as it is known, nil otherwise.
func (d *Directory) who(owner string) *terms.ClientInfo {
	switch client := Of(owner); client {
	case "":
		return nil
	case d.All.ID:
		if !d.introduced() {
			return nil
		}
		return d.self()
	default:
		return d.cache.client(client)
	}
}

// Identify completes an err that says that another owner has a lock: it adds which client that is. A
// client that is not known is looked up; the caller waits for that for about two round trips, 50 ms at
// most, and not once ctx has ended.
//
// Cost: none where the client is known; every few seconds, one script call on each master that nobody
// waits for. Else one command and one script call on each master.
func (d *Directory) Identify(ctx context.Context, err error) error {
	why, ok := err.(*poll.MajorityError)
	if !ok || !d.introduced() || Of(why.Holder) == "" {
		return err
	}
	key, client := why.Name, d.who(why.Holder)
	if d.All.Begin() {
		if client == nil {
			d.find(ctx, key, why.Holder)
			client = d.who(why.Holder)
		} else if d.heldSince(key, why.Holder).IsZero() && d.cache.mayAsk("since when "+key) {
			d.lookAt(key, why.Holder) // for the next who is refused
		}
		d.All.End()
	}
	named := *why
	named.Client, named.For = client, d.HeldFor(d.heldSince(key, why.Holder))
	return &named
}

// longestLookUp bounds what a name may cost a caller. Far masters take longer; the next caller who is
// refused knows the name then.
const longestLookUp = 50 * time.Millisecond

// find looks up the client of owner, and since when owner has the lock at key, which is told only of a known client.
func (d *Directory) find(ctx context.Context, key, owner string) {
	client := d.lookUp(Of(owner))
	if client == nil {
		return // it was asked for lately, and has no record
	}
	at := d.lookAt(key, owner)
	enough, cancel := context.WithTimeout(ctx, min(2*d.All.RoundTrip()+20*time.Millisecond, longestLookUp))
	defer cancel()
	awaitAll(enough, at, client)
}

// awaitAll waits for all of done that are not nil, or for the end of ctx.
func awaitAll(ctx context.Context, done ...<-chan struct{}) {
	for _, c := range done {
		if c == nil {
			continue
		}
		select {
		case <-c:
		case <-ctx.Done():
		}
	}
}

// heldSince returns when owner got the lock at key, by the masters' clocks; the zero time if that is not known.
func (d *Directory) heldSince(key, owner string) time.Time {
	if d.All.Ours(owner) {
		return d.own.Since(key, owner)
	}
	return d.cache.since(owner)
}

// introduced reports whether the client says who it is, and wants to know who others are.
func (d *Directory) introduced() bool { return d.id.Record.Name != "" }

// Find returns the records of the clients of owners, as far as there are any, by owner. It waits until ctx ends
// for a master that has the record, or for all that have none: about a node timeout at most.
//
// Cost: one command to each master for each client that is not known.
func (d *Directory) Find(ctx context.Context, owners []string) map[string]*terms.ClientInfo {
	found := make(map[string]*terms.ClientInfo)
	if !d.introduced() || !d.All.Begin() {
		return found
	}
	defer d.All.End()
	var asked []<-chan struct{}
	for _, owner := range owners {
		asked = append(asked, d.lookUp(Of(owner)))
	}
	awaitAll(ctx, asked...)
	for _, owner := range owners {
		if client := d.who(owner); client != nil {
			found[owner] = client
		}
	}
	return found
}
