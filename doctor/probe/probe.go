package probe

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
	"example.com/redlock/internal/quote"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
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

	Certificates [2]*x509.Certificate // over TLS: the master's, and that of the client; nil: there is none

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

// Run examines a master, over connections of its own. It locks e.Scratch in every way that clients
// lock a name, and deletes what that left behind; it changes nothing else.
//
// It takes two seconds and the time of about fifty round trips, which it shortens to fifteen where
// they are slow. A master that does not answer costs e.Patience, or what its pool takes to connect.
// After the end of ctx it begins nothing more, and returns after [CleanTime] whatever the master does.
//
// What it could not delete, since the connection broke, goes by itself within two hours.
func Run(ctx context.Context, e Examination) Facts {
	p := &probe{
		Examination: e,
		client:      fmt.Sprintf("%08x-%04x-4000-8000-%012x", rand.Uint32(), rand.N(1<<16), rand.Uint64N(1<<48)),
		server:      &server.Server{Name: e.Name, Pool: e.Pool, Timeout: e.Patience},
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
	server  *server.Server
	conn    *server.Conn
	scripts any // which of them the master has
	facts   Facts
	samples []server.Sample // of the master's clock
}

// run takes all steps, or those up to the first that fails.
func (p *probe) run(ctx context.Context) error {
	conn, err := p.connect(ctx)
	if err != nil {
		return err
	}
	p.conn, p.facts.Certificates = conn, conn.Certificates
	defer conn.Close()
	// A master that answers drop by drop keeps within the Patience for each.
	defer context.AfterFunc(ctx, func() { time.AfterFunc(CleanTime, conn.Sever) })()
	for _, step := range []func(context.Context) error{
		p.greet, p.timeTrips, p.tryEverything, p.lookAtUses, p.compareClocks, p.lookAround,
	} {
		err := step(ctx)
		if err = cmp.Or(ctx.Err(), err); err != nil {
			return err
		}
	}
	return nil
}

func (p *probe) connect(ctx context.Context) (*server.Conn, error) {
	conn, err := p.server.Connect(ctx, max(server.FirstPatience, p.Patience))
	if err == nil {
		conn.Patience = p.Patience
	}
	return conn, err
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

// greet asks who the master is and how it is set up, and refuses it if a client would.
func (p *probe) greet(context.Context) error {
	commands := [][]any{{"INFO"}, {"ACL", "GETUSER", "default"}}
	for _, name := range settings {
		commands = append(commands, []any{"CONFIG", "GET", name})
	}
	g, replies, err := p.conn.Greet(commands...)
	if replies == nil {
		return err
	}
	info, user := replies[0], replies[1]
	p.scripts, p.facts.DB = g.Scripts, g.DB
	p.facts.Settings = p.pairs(replies[2:])
	p.facts.Info, _ = server.ReadInfo(info)
	p.facts.Open, p.facts.Drops = defaultUser(user)
	if refusal, refused := user.(redis.Error); refused && server.Denied(refusal) {
		p.unseen("ACL GETUSER", refusal)
	}
	p.unseen("INFO", info)
	_, refused := err.(redis.Error)
	p.facts.Reached = !refused || len(p.facts.Info) > 0
	p.facts.Promoted = g.Promoted
	p.facts.Guard = max(0, clock.Until(g.Told.Add(g.GrantsIn(p.Guard, false))))
	return err
}

// pairs reads the replies to CONFIG GET of one setting each.
func (p *probe) pairs(replies []any) map[string]string {
	all := make(map[string]string)
	for _, reply := range replies {
		if pair, err := redis.ByteSlices(reply, nil); err == nil && len(pair) == 2 {
			all[string(pair[0])] = quote.Brief(string(pair[1]), 2*quote.Most)
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
	replies, err := p.conn.Ask([]any{"PING"}, []any{"TIME"})
	if err != nil {
		return 0, err
	}
	read := clock.Now()
	if s, ok := server.SampleOf(sent, read, replies[1]); ok {
		p.samples = append(p.samples, s)
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
	case <-time.After(clock.Until(p.samples[0].Sent.Add(watchClock))):
	case <-ctx.Done():
		return ctx.Err()
	}
	_, err := p.trip()
	return err
}

// compare compares a master's clock with ours over several samples. A gain is certain only as far as the time
// on the way cannot explain it.
func compare(samples []server.Sample) ClockFacts {
	if len(samples) == 0 {
		return ClockFacts{}
	}
	first, last := samples[0], samples[len(samples)-1]
	best := slices.MinFunc(samples, func(a, b server.Sample) int { return cmp.Compare(a.Read.Sub(a.Sent), b.Read.Sub(b.Sent)) })
	wall := time.Now().Add(-clock.Since(best.Read) - best.Read.Sub(best.Sent)/2)
	passed := last.Told.Sub(first.Told)
	most, least := last.Read.Sub(first.Sent), last.Sent.Sub(first.Read)
	return ClockFacts{
		Known:  true,
		Offset: best.Told.Sub(wall),
		Over:   most,
		Gained: max(0, passed-most),
		Lost:   max(0, least-passed),
	}
}
