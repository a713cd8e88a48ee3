package node

import (
	"cmp"
	"context"
	"crypto/x509"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/node/script"
)

// Examination says which master to probe, and how.
type Examination struct {
	Name string      // in errors
	Pool *redis.Pool // lends two connections

	// Guard is how old the master's process must be before it grants holds, as [Config.Guard].
	Guard time.Duration

	// Patience bounds the time for one answer. A master that takes longer is not examined further.
	Patience time.Duration

	// Scratch is a name that nobody locks, and begins with Start, as all names do that the user may lock.
	// The probe locks it, and then deletes all keys of it.
	Scratch, Start string

	// Dialed says that Name is an address that this machine dials, so that the host in it can be looked up.
	Dialed bool
}

// Facts are what a probe found out about one master. What it could not find out is left zero.
type Facts struct {
	Name    string
	Reached bool  // it let us in, and told something of itself
	Err     error // why the client would not use it, or why the probe ended early

	Info     map[string]string // what INFO says
	Settings map[string]string // what CONFIG GET says of the settings that matter
	Hosts    []netip.Addr      // what the host of its name leads to, if that was looked up
	Open     bool              // whoever reaches the master needs no password
	Drops    bool              // the user default, as whom a file is replayed, lacks rights: what it may not is left out
	Unseen   []Refusal         // commands by which the user may not look

	Certificate, Own *x509.Certificate // over TLS: the master's, and that of the client; nil: there is none

	Guard    time.Duration // for how long it grants no holds yet
	Promoted bool          // it was a replica

	Trips   []time.Duration // round trips of PING and TIME together
	Clock   ClockFacts
	Scripts []time.Duration // an acquire and a release in one round trip

	Denials []Refusal // as ACL rules have them: "+hset", "~redlock_fence:{orders:*", "&redlock_wake:*"
	Trials  []Refusal // what clients do with a lock, and failed on the scratch name
	Channel error     // why there is no second connection that is subscribed

	Slow   SlowCommand // the slowest in SLOWLOG
	Sample Sample
	Uses   []script.Use             // of this master, by clients
	Users  map[string]script.Record // of those who published them, by ID
	DB     int                      // number of the database, -1: not known
}

// Refusal is something that the user may not do, or the master does not know, or that fails there.
type Refusal struct {
	What    string
	Err     error
	Without string // of a Denial: what does not work without it; empty: no lock can be had
}

// ClockFacts are what a master's clock showed, compared with ours.
type ClockFacts struct {
	Known  bool
	Offset time.Duration // how far it is ahead of our wall clock, to within half a round trip
	Over   time.Duration // for how long the two were compared
	Gained time.Duration // by how much it ran faster meanwhile, at least
	Lost   time.Duration // by how much it ran slower meanwhile, at least
}

// Bounds of a probe that a fast master does not reach.
const (
	fewTrips   = 3               // of each kind, however long they take
	manyTrips  = 20              // of each kind, at most
	tripsTime  = time.Second     // after which no more are begun
	watchClock = 2 * time.Second // for which a master's clock is compared with ours

	// CleanTime is for how long a probe may go on after the end of its context, to delete what it left.
	CleanTime = time.Second
)

// Probe examines a master, over connections of its own. It locks e.Scratch in every way that clients
// lock a name, and deletes what that left behind; it changes nothing else.
//
// It takes two seconds and the time of about fifty round trips, which it shortens to fifteen where
// they are slow. A master that does not answer costs e.Patience, or what its pool takes to connect.
// After the end of ctx it begins nothing more, and returns after [CleanTime] whatever the master does.
//
// What it could not delete, since the connection broke, goes by itself within two hours.
func Probe(ctx context.Context, e Examination) Facts {
	p := &probe{
		Examination: e,
		client:      fmt.Sprintf("%08x-%04x-4000-8000-%012x", rand.Uint32(), rand.N(1<<16), rand.Uint64N(1<<48)),
		node:        &Node{cfg: Config{Name: e.Name, Pool: e.Pool, Timeout: e.Patience, Guard: e.Guard}},
		facts:       Facts{Name: e.Name},
	}
	hosts := make(chan []netip.Addr, 1)
	go func() { hosts <- e.hosts(ctx) }() // ends with its Patience
	p.facts.Err = p.run(ctx)
	p.facts.Hosts = <-hosts
	return p.facts
}

// hosts looks up the host in the master's name.
func (e *Examination) hosts(ctx context.Context) []netip.Addr {
	host, _, err := net.SplitHostPort(e.Name)
	if !e.Dialed || err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, e.Patience)
	defer cancel()
	all, _ := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	return all
}

// probe is an examination that is under way.
type probe struct {
	Examination
	client  string // that its owners belong to
	node    *Node  // never connected: it lends what a handshake needs
	wire    *wire
	facts   Facts
	samples []sample // of the master's clock
}

// run takes all steps, or those up to the first that fails.
func (p *probe) run(ctx context.Context) error {
	w, err := p.connect(ctx)
	if err != nil {
		return err
	}
	p.wire = w
	p.facts.Certificate, p.facts.Own = w.master, w.own
	defer w.close()
	// A master that answers drop by drop keeps within the Patience for each.
	defer context.AfterFunc(ctx, func() { time.AfterFunc(CleanTime, w.sever) })()
	for _, step := range []func(context.Context) error{
		p.identify, p.timeTrips, p.tryEverything, p.lookAtUses, p.compareClocks, p.lookAround,
	} {
		err := step(ctx)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			return normalize(err)
		}
	}
	return nil
}

func (p *probe) connect(ctx context.Context) (*wire, error) {
	w, err := p.node.borrow(ctx, max(firstPatience, p.Patience))
	if err == nil {
		w.patience = p.Patience
	}
	return w, err
}

// unseen reports whether reply is a refusal, and notes the first of its kind.
func (p *probe) unseen(what string, reply any) bool {
	refusal, refused := reply.(redis.Error)
	if refused {
		p.hidden(what, refusal)
	}
	return refused
}

// hidden notes why something was not seen.
func (p *probe) hidden(what string, err error) {
	if !slices.ContainsFunc(p.facts.Unseen, func(u Refusal) bool { return u.What == what }) {
		p.facts.Unseen = append(p.facts.Unseen, Refusal{What: what, Err: err})
	}
}

// settings are those that locks depend on.
var settings = []string{
	"appendonly", "appendfsync", "no-appendfsync-on-rewrite", "save", "maxmemory", "maxmemory-policy", "maxclients", "timeout",
	"min-replicas-to-write", "protected-mode", "bind", "acl-pubsub-default",
}

// identify asks who the master is and how it is set up, and refuses it if a client would.
func (p *probe) identify(context.Context) error {
	commands := [][]any{{"PING"}, {"INFO"}}
	for _, name := range settings {
		commands = append(commands, []any{"CONFIG", "GET", name})
	}
	commands = append(commands, []any{"ACL", "GETUSER", "default"})
	replies, err := p.wire.ask(append(commands, []any{"CLIENT", "INFO"})...)
	if err != nil {
		return err
	}
	told := clock.Now()
	last := len(replies) - 2
	_, p.facts.DB = connectionOf(replies[last+1])
	p.facts.Settings = p.pairs(replies[2:last])
	id := identify(replies[1])
	p.facts.Info, _ = readInfo(replies[1])
	p.facts.Open, p.facts.Drops = defaultUser(replies[last])
	if refusal, refused := replies[last].(redis.Error); refused && denied(refusal) {
		p.unseen("ACL GETUSER", refusal)
	}
	p.unseen("INFO", replies[1])
	refusal, refused := replies[0].(redis.Error)
	refused = refused && cannotServe(refusal)
	p.facts.Reached = !refused || len(p.facts.Info) > 0
	if refused {
		return refusal
	}
	p.facts.Promoted = id.promoted
	ends, _ := p.node.guardEnd(&id, told)
	p.facts.Guard = max(0, clock.Until(ends))
	return id.check(replies[0])
}

// pairs reads the replies to CONFIG GET of one setting each.
func (p *probe) pairs(replies []any) map[string]string {
	all := make(map[string]string)
	for _, reply := range replies {
		if pair, err := redis.ByteSlices(reply, nil); err == nil && len(pair) == 2 {
			all[string(pair[0])] = brief(pair[1])
		} else {
			p.unseen("CONFIG GET", reply)
		}
	}
	return all
}

// defaultUser reads the reply to ACL GETUSER of the user that a connection has which gives no password: its
// properties, each behind its name. open: it needs no password. lacks: it may not run every command on every
// key, on or off.
func defaultUser(reply any) (open, lacks bool) {
	properties, _ := redis.Values(reply, nil)
	for i := 0; i+1 < len(properties); i += 2 {
		name, _ := redis.String(properties[i], nil)
		text, _ := redis.String(properties[i+1], nil)
		list, _ := redis.Strings(properties[i+1], nil) // of keys before Redis 7.0
		switch name {
		case "flags":
			open = slices.Contains(list, "on") && slices.Contains(list, "nopass")
		case "commands":
			lacks = lacks || text != "+@all"
		case "keys":
			lacks = lacks || text != "~*" && !slices.Contains(list, "*")
		}
	}
	return open, lacks
}

// trip makes one round trip with PING and TIME.
func (p *probe) trip() (time.Duration, error) {
	sent := clock.Now()
	replies, err := p.wire.ask([]any{"PING"}, []any{"TIME"})
	if err != nil {
		return 0, err
	}
	read := clock.Now()
	if told, ok := timeOf(replies[1]); ok {
		p.samples = append(p.samples, sample{sent, read, told})
	}
	return read.Sub(sent), nil
}

func (p *probe) timeTrips(context.Context) (err error) {
	p.facts.Trips, err = timed(p.trip)
	return err
}

// timed repeats a round trip, and returns how long each took.
func timed(trip func() (time.Duration, error)) (took []time.Duration, err error) {
	start := clock.Now()
	for len(took) < fewTrips || len(took) < manyTrips && clock.Since(start) < tripsTime {
		d, err := trip()
		if err != nil {
			return took, err
		}
		took = append(took, d)
	}
	return took, nil
}

// compareClocks waits until the clocks have run side by side for long enough, and looks at them once
// more.
func (p *probe) compareClocks(ctx context.Context) error {
	defer func() { p.facts.Clock = compare(p.samples) }()
	if len(p.samples) == 0 {
		return nil
	}
	select {
	case <-time.After(clock.Until(p.samples[0].sent.Add(watchClock))):
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := p.trip()
	return err
}

// compare compares a master's clock with ours over several samples. See [clockCheck.add] for what is certain.
func compare(samples []sample) ClockFacts {
	if len(samples) == 0 {
		return ClockFacts{}
	}
	first, last := samples[0], samples[len(samples)-1]
	best := slices.MinFunc(samples, func(a, b sample) int { return cmp.Compare(a.read.Sub(a.sent), b.read.Sub(b.sent)) })
	wall := time.Now().Add(-clock.Since(best.read) - best.read.Sub(best.sent)/2)
	passed := last.told.Sub(first.told)
	most, least := last.read.Sub(first.sent), last.sent.Sub(first.read)
	return ClockFacts{
		Known:  true,
		Offset: best.told.Sub(wall),
		Over:   most,
		Gained: max(0, passed-most),
		Lost:   max(0, least-passed),
	}
}
