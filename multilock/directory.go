package multilock

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/multilock/terms"
	"example.com/redlock/node/script"
)

// directory is what the client knows of others whose owners it has met: it looks each up once.
type directory struct {
	mu      sync.Mutex
	clients map[string]known         // by uuid
	grants  map[string]time.Time     // by owner: when it got its lock, by the masters' clocks
	asked   map[string]clock.Instant // what was asked for last: clients, and owners
}

// known is a client's record, as it was read.
type known struct {
	info terms.ClientInfo
	at   clock.Instant
}

const (
	// maxKnown bounds what a directory keeps of each kind. It begins anew then.
	maxKnown = 1000

	// askAgain is how long what was not found is not asked for again.
	askAgain = 5 * time.Second
)

// clientOf returns the client of owner, empty if it is none of this library's.
func clientOf(owner string) string {
	client, number, ok := strings.Cut(owner, ":")
	if !ok || !strings.HasPrefix(number, "r") && !script.Keeps(owner) {
		return ""
	}
	return client
}

// client returns the record of client, nil if it is not known.
func (d *directory) client(client string) *terms.ClientInfo {
	d.mu.Lock()
	defer d.mu.Unlock()
	k, ok := d.clients[client]
	if !ok {
		return nil
	}
	info := k.info
	info.Seen += clock.Since(k.at)
	return &info
}

// since returns when owner got its lock, by the masters' clocks; the zero time if that is not known.
func (d *directory) since(owner string) time.Time {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.grants[owner]
}

// mayAsk reports whether what is to be asked for, and notes that it is.
func (d *directory) mayAsk(what string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := clock.Now()
	if at, ok := d.asked[what]; ok && now.Sub(at) < askAgain {
		return false
	}
	put(&d.asked, what, now)
	return true
}

// put adds to a map of the directory.
func put[V any](m *map[string]V, key string, v V) {
	if *m == nil || len(*m) >= maxKnown {
		*m = make(map[string]V)
	}
	(*m)[key] = v
}

// lookUp asks for the record of client, unless it is known or was asked for lately: then it returns a
// closed channel, and else one that is closed once the record is known, or no master has it.
//
// Cost: one command to each master.
func (m *Masters) lookUp(client string) <-chan struct{} {
	d := &m.directory
	if client == "" || client == m.ID() || d.client(client) != nil || !d.mayAsk(client) {
		return closedChan
	}
	return m.ask(script.LookUp(client), func(b *ballot) bool {
		for i := range b.n {
			if r, ok := script.ReadRecord(b.at(i).Reply); ok {
				info := m.info(client, r)
				d.mu.Lock()
				defer d.mu.Unlock()
				put(&d.clients, client, known{*info, clock.Now()})
				return true
			}
		}
		return false
	}).done
}

// lookAt asks since when owner has the lock at key, as lookUp does for a client: its fencing token is
// the time at which it got the lock.
//
// Cost: one script call on each master.
func (m *Masters) lookAt(key, owner string) <-chan struct{} {
	d := &m.directory
	if !d.since(owner).IsZero() || !d.mayAsk(owner) {
		return closedChan
	}
	return m.ask(script.Inspect(key), func(b *ballot) bool {
		var tokens []int64
		for i := range b.n {
			if a := b.at(i); a.Holder == owner {
				tokens = append(tokens, a.Token)
			}
		}
		if !m.majority(len(tokens)) {
			return false
		}
		d.mu.Lock()
		defer d.mu.Unlock()
		put(&d.grants, owner, granted(tokens))
		return true
	}).done
}

// granted returns when a lock was granted, by what its masters have for its fencing token. Those of a
// minority may have another number, or none.
func granted(tokens []int64) time.Time {
	slices.Sort(tokens)
	return time.UnixMicro(tokens[(len(tokens)-1)/2])
}

// tooLong is the longest time that a lock is said to be held for. What is longer is no time.
const tooLong = 10 * 365 * 24 * time.Hour

// heldFor returns how long ago since was by the masters' clocks, 0 if that makes no sense.
func (m *Masters) heldFor(since time.Time) time.Duration {
	if d := m.Now().Sub(since); !since.IsZero() && d > 0 && d < tooLong {
		return d
	}
	return 0
}

const (
	// Callers that wait learn who keeps them from a lock only once it has done so for a while. Most locks
	// change hands sooner, and of a thousand clients that wait each would ask for a thousand others.
	namedAfter = 100 * time.Millisecond // its client is looked up
	timedAfter = time.Second            // and since when it has the lock
)

// met is told which owner keeps callers that wait from t.
func (m *Masters) met(t target, owner string) {
	client := clientOf(owner)
	if client == "" || client == m.ID() || !m.introduced() {
		return
	}
	var kept time.Duration
	m.mu.Lock()
	n, now := m.names[t], clock.Now()
	if n != nil && n.blocker == owner {
		kept = now.Sub(n.since)
	} else if n != nil {
		n.blocker, n.since = owner, now
	}
	m.mu.Unlock()
	if kept >= namedAfter {
		m.lookUp(client)
	}
	if kept >= timedAfter {
		m.lookAt(t.key, owner)
	}
}

// self returns what the client says of itself.
func (m *Masters) self() *terms.ClientInfo {
	holds, waits := m.busy()
	p := &m.presence
	p.mu.Lock()
	defer p.mu.Unlock()
	return &terms.ClientInfo{
		ID: m.ID(), Name: p.Name, Host: p.Host, Program: p.Program, Version: p.Version, PID: p.PID, Since: p.Since,
		Holds: holds, Waits: waits, Terms: m.ownTermsLocked(),
	}
}

// who returns the client of owner as far as it is known, nil otherwise.
func (m *Masters) who(owner string) *terms.ClientInfo {
	switch client := clientOf(owner); client {
	case "":
		return nil
	case m.ID():
		if !m.introduced() {
			return nil
		}
		return m.self()
	default:
		return m.directory.client(client)
	}
}

// Identify completes an err that says that another owner has a lock: it adds which client that is. A
// client that is not known is looked up; the caller waits for that for about two round trips, 50 ms at
// most, and not once ctx has ended.
//
// Cost: none where the client is known; every few seconds, one script call on each master that nobody
// waits for. Else one command and one script call on each master.
func (m *Masters) Identify(ctx context.Context, err error) error {
	why, ok := err.(*MajorityError)
	if !ok || !m.introduced() || clientOf(why.Holder) == "" {
		return err
	}
	t, client := target{key: why.Name}, m.who(why.Holder)
	if m.begin() {
		if client == nil {
			m.find(ctx, t.key, why.Holder)
			client = m.who(why.Holder)
		} else if m.since(t, why.Holder).IsZero() && m.directory.mayAsk("since when "+t.key) {
			m.lookAt(t.key, why.Holder) // for the next who is refused
		}
		m.tries.Done()
	}
	named := *why
	named.Client, named.For = client, m.heldFor(m.since(t, why.Holder))
	return &named
}

// longestLookUp bounds what a name may cost a caller. Far masters take longer; the next caller who is
// refused knows the name then.
const longestLookUp = 50 * time.Millisecond

// find looks up the client of owner, and when that got the lock at key: without the one, nobody is told
// the other.
func (m *Masters) find(ctx context.Context, key, owner string) {
	client := m.lookUp(clientOf(owner))
	if client == closedChan {
		return // it was asked for lately, and has no record
	}
	at := m.lookAt(key, owner)
	enough, cancel := context.WithTimeout(ctx, min(2*m.RoundTrip()+20*time.Millisecond, longestLookUp))
	defer cancel()
	awaitAll(enough, at, client)
}

// awaitAll waits for all of done, or for the end of ctx.
func awaitAll(ctx context.Context, done ...<-chan struct{}) {
	for _, c := range done {
		select {
		case <-c:
		case <-ctx.Done():
		}
	}
}

// since returns when owner got t, by the masters' clocks; the zero time if that is not known.
func (m *Masters) since(t target, owner string) time.Time {
	if m.owners.ours(owner) {
		if h := m.latest(t); h != nil && h.Owner() == owner {
			return time.UnixMicro(h.Token())
		}
	}
	return m.directory.since(owner)
}

// introduced reports whether the client says who it is, and wants to know who others are.
func (m *Masters) introduced() bool { return m.presence.Name != "" }

// Find returns the records of the clients of owners, as far as there are any, by owner.
//
// Cost: one command to each master for each client that is not known.
func (m *Masters) Find(ctx context.Context, owners []string) map[string]*terms.ClientInfo {
	found := make(map[string]*terms.ClientInfo)
	if !m.introduced() || !m.begin() {
		return found
	}
	defer m.tries.Done()
	var asked []<-chan struct{}
	for _, owner := range owners {
		asked = append(asked, m.lookUp(clientOf(owner)))
	}
	enough, cancel := context.WithTimeout(ctx, 2*m.RoundTrip()+20*time.Millisecond)
	defer cancel()
	awaitAll(enough, asked...)
	for _, owner := range owners {
		if client := m.who(owner); client != nil {
			found[owner] = client
		}
	}
	return found
}
