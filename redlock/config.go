package redlock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/google/uuid"

	"example.com/redlock/clock"
	"example.com/redlock/internal/tracer"
	"example.com/redlock/multilock"
	"example.com/redlock/multilock/poll"
	"example.com/redlock/node"
	"example.com/redlock/node/script"
	"example.com/redlock/node/server"
	"example.com/redlock/redlocktrace"
)

// Config says which masters to use and how. The zero value of each field but the
// masters is its default.
type Config struct {
	// Masters are redis://, rediss:// or unix:// URLs, host:port, or the path of a Unix socket, one
	// for each master: 3 or 5 in production, at most 16. An even number costs more than the odd one
	// below it and survives no more: two masters survive the loss of neither. The port is 6379 unless given. Errors
	// and logs name a master by its host and port, or by the path of its socket.
	//
	//	redis://user:password@host:6379/0   rediss:// is the same over TLS
	//	unix://user:password@/run/redis/redis.sock?db=0
	Masters []string

	// TLS says how to connect to rediss:// Masters: which certificate authorities to trust, and the
	// client's own certificate. Each master's certificate must be for the host in its URL, unless
	// ServerName is set. GetClientCertificate and VerifyConnection are called for each connection, the latter with the
	// host as ServerName even where that is an address: for files that are replaced, see
	// docs/operations.md#tls. Default: the system's authorities, and no client certificate.
	TLS *tls.Config

	// Credentials returns the user and the password of Masters whose URLs have none. It is asked anew
	// for each connection: for passwords that change, and for tokens that expire. master is a master's host and
	// port, or the path of its socket; user may be empty, and a user with an empty password is logged in as well.
	// It is called from several goroutines, and ctx ends with the attempt to connect, after 1 to 8 s. After an error
	// there will be another attempt. A call that goes on after the end of ctx is left behind: Close does not wait for
	// it, and while there are two at a master, it is not connected to. Default: what the URLs say.
	Credentials func(ctx context.Context, master string) (user, password string, err error)

	// Dial connects to Masters: through a tunnel or a proxy. TLS and Redis go over the connection that it
	// returns, which needs no deadlines: it is closed instead. network is "tcp" and address host:port, whose name is
	// not looked up, or "unix" and the path of the socket. It is called from several goroutines, and ctx ends with
	// the attempt to connect. A call that goes on after that is left behind, as one of Credentials, and its connection
	// is closed. Default: the name is looked up for as long as the attempt lasts, and its addresses are tried in turn,
	// each with a head start of 250 ms over the next.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Pools replace Masters where all of that does not say enough. Each pool
	// leads to one master, always the same. The client keeps one connection of each for commands and,
	// once a caller has had to wait, a second one for subscriptions. The caller closes the pools. The
	// connections must implement redis.ConnWithContext and redis.ConnWithTimeout, as redigo's own do;
	// others are refused. redigo makes room for whatever a server says that it sends, so these lead to masters that
	// you trust. Errors and logs name a master by its index, "pool 0".
	Pools []*redis.Pool

	// Lease is how long a hold lives without renewal, and so how long a dead client keeps the
	// others out. Default 30 s, as in Redisson. Whole milliseconds, rounded down.
	Lease time.Duration

	// MaxHold is how long after Lock or LockAll has returned the watchdog keeps renewing a hold. The hold is then lost at the
	// end of its validity, which is later than MaxHold by less than Lease. It bounds what a hung
	// holder costs the others; a holder that needs longer calls Extend or Enter. At
	// least Lease. Default: no bound.
	MaxHold time.Duration

	// MaxLease is the longest lease that the client takes: see the options of [Client.Lock]. It must not be longer than
	// the RestartGuard of any client of these masters, see [ErrShortGuard]. Default: Lease.
	MaxLease time.Duration

	// Keep is how long a lock stays with the client after its last Unlock while no other client wants the name: the next
	// Lock of the same client then takes no message. Clients that want the name wait for one message more; if this client
	// dies while it keeps a lock, they wait for the rest of its lease. Readers and permits are never kept. At most Lease,
	// whole milliseconds. Default 0: not at all.
	//
	// Source: docs/kept.md.
	Keep time.Duration

	// RestartGuard is how long a master that restarted must have been up before it
	// grants a hold again, since it may have forgotten those it granted before. Default
	// MaxLease, and at least 30 s, so that clients with shorter leases go together with those that
	// have defaults; it cannot be less than MaxLease. [GuardOff]: no guard, for tests, and for masters
	// that write each change to disk (appendfsync always).
	RestartGuard time.Duration

	// NodeTimeout is how long one master may take to answer. A master that takes longer is down
	// until it answers again. Default: a tenth of Lease, but at least 1 ms and at most 500 ms. At
	// least 1 ms.
	NodeTimeout time.Duration

	// Prefix is what the keys of this client's locks begin with at the masters, in front of their names: a client with
	// the Prefix "orders:" that locks "42" and one without that locks "orders:42" exclude each other. Names in
	// the program have no prefix, nor have those that package redlockadmin lists, errors, the log and Trace.
	// MONITOR and ACL LOG show whole keys. The records of clients have no prefix, so settings conflict whatever the
	// names. At most 1023 bytes; a name has at most 1024 with it. The same in all sets of [NewSets]. Default: none.
	Prefix string

	// Name is what others call this program. It is in the record that the client keeps on every
	// master, by which others name the holder of a lock (see package redlockadmin). Default: the base name
	// of the executable. At most 100 bytes.
	Name string

	// NoRecord keeps the client's record off the masters: others then see only its uuid. Its masters,
	// MaxLease and RestartGuard are still compared with those of others, see [ConflictError].
	NoRecord bool

	// Logger gets a message when a master goes down, comes up or is refused, when Lock waits because
	// no majority can grant it, when a hold is lost, when other clients use the masters in a way that
	// conflicts with this one, when a Hold became garbage without Unlock, when a certificate ends soon, and
	// when a process makes many clients and does not close them. Where a caller is concerned, the message has the
	// caller's context, so that a handler finds a trace's ID. Default: warnings and what is worse, to slog.Default. For
	// silence, use slog.New(slog.DiscardHandler).
	//
	// The handler gets the messages of each set of masters in order, in a goroutine of its own, and maybe shortly after
	// what they tell: their time is when it happened. So it may be slow, and may call the client, without delaying any
	// lock. At most 1,000 messages of a set wait for it. Others are dropped, and a message says how many. Close waits
	// for the handler, also one that calls it, but no longer than half a second, or a NodeTimeout if that is longer;
	// what has not been handled by then never is. Only Enabled is called at once: it must neither block nor call the
	// client.
	Logger *slog.Logger

	// Trace has functions that are called at each step: of a call, a hold and a master. Package
	// redlocktrace lists them, and says how they are called. Default: none, at no cost.
	Trace *redlocktrace.Trace
}

// GuardOff is the Config.RestartGuard of masters that forget nothing when they restart.
const GuardOff time.Duration = -1

// Defaults of Config.
const (
	defaultLease   = 30 * time.Second
	maxLease       = 100 * 365 * 24 * time.Hour // sums of more overflow
	minNodeTimeout = time.Millisecond
	maxNodeTimeout = 500 * time.Millisecond
	maxClientName  = 100
)

// WithDefaults returns cfg with the defaults that [New] would use, or the error of New about values that do not fit
// together. New alone looks whether Masters and Pools lead to masters, each to another.
func (cfg Config) WithDefaults() (Config, error) {
	err := cfg.fill()
	return cfg, err
}

// fill sets the defaults and refuses what does not fit together.
func (cfg *Config) fill() error {
	switch n := len(cfg.Masters) + len(cfg.Pools); {
	case n == 0:
		return errors.New("redlock: Config has no Masters and no Pools")
	case len(cfg.Masters) > 0 && len(cfg.Pools) > 0:
		return errors.New("redlock: Config has both Masters and Pools")
	case cfg.TLS != nil && !slices.ContainsFunc(cfg.Masters, func(m string) bool { return strings.HasPrefix(m, "rediss://") }):
		return errors.New("redlock: Config.TLS is of no use: no URL in Config.Masters begins with rediss://")
	case len(cfg.Pools) > 0 && (cfg.Credentials != nil || cfg.Dial != nil):
		return errors.New("redlock: Config.Credentials and Config.Dial are for Masters: Pools dial by themselves")
	case n > poll.Max:
		return fmt.Errorf("redlock: Config has %d masters, more than %d", n, poll.Max)
	}
	if cfg.Lease == 0 {
		cfg.Lease = defaultLease
	}
	if cfg.MaxLease == 0 {
		cfg.MaxLease = max(cfg.Lease, 0)
	}
	if cfg.RestartGuard == 0 {
		cfg.RestartGuard = max(cfg.MaxLease, defaultLease)
	}
	if cfg.NodeTimeout == 0 {
		cfg.NodeTimeout = min(max(cfg.Lease/10, minNodeTimeout), maxNodeTimeout)
	}
	if cfg.Logger == nil {
		cfg.Logger = defaultLogger()
	}
	if cfg.Name == "" {
		cfg.Name = program()
	}
	if err := cfg.check(); err != nil {
		return err
	}
	cfg.Lease = cfg.Lease.Truncate(time.Millisecond)
	return nil
}

// check refuses pools that are nil, and durations that do not fit together.
func (cfg *Config) check() error {
	if i := slices.Index(cfg.Pools, nil); i >= 0 {
		return fmt.Errorf("redlock: Config.Pools[%d] is nil", i)
	}
	if cfg.MaxLease < 0 {
		return fmt.Errorf("redlock: Config.MaxLease %v is negative", cfg.MaxLease)
	}
	if err := cfg.checkLease("Config.Lease", cfg.Lease); err != nil {
		return err
	}
	lease := cfg.Lease.Truncate(time.Millisecond)
	switch own := script.Prefix(cfg.Prefix).Reserved(); {
	case len(cfg.Prefix) >= maxName:
		return fmt.Errorf("redlock: Config.Prefix has %d bytes: names have up to %d with it", len(cfg.Prefix), maxName)
	case own != "":
		return fmt.Errorf("redlock: Config.Prefix %q and %q begin alike: a lock could be a key that belongs to another lock", cfg.Prefix, own)
	case len(cfg.Name) > maxClientName:
		return fmt.Errorf("redlock: Config.Name has %d bytes, more than %d", len(cfg.Name), maxClientName)
	case cfg.MaxLease > maxLease:
		return fmt.Errorf("redlock: Config.MaxLease %v is longer than %v", cfg.MaxLease, maxLease)
	case cfg.RestartGuard > maxLease:
		return fmt.Errorf("redlock: Config.RestartGuard %v is longer than %v", cfg.RestartGuard, maxLease)
	case cfg.MaxHold < 0:
		return fmt.Errorf("redlock: Config.MaxHold %v is negative", cfg.MaxHold)
	case cfg.MaxHold > 0 && cfg.MaxHold < lease:
		return fmt.Errorf("redlock: Config.MaxHold %v is shorter than Config.Lease %v: a hold lasts that long without being renewed", cfg.MaxHold, lease)
	case cfg.RestartGuard < 0 && cfg.RestartGuard != GuardOff:
		return fmt.Errorf("redlock: Config.RestartGuard %v is negative: for no guard, use GuardOff", cfg.RestartGuard)
	case cfg.RestartGuard > 0 && cfg.RestartGuard < cfg.MaxLease:
		return fmt.Errorf("redlock: Config.RestartGuard %v is shorter than Config.MaxLease %v: a master could grant before the leases that it forgot have ended", cfg.RestartGuard, cfg.MaxLease)
	case cfg.Keep < 0 || cfg.Keep > lease || cfg.Keep != cfg.Keep.Truncate(time.Millisecond):
		return fmt.Errorf("redlock: Config.Keep %v is not in whole milliseconds from 0 to Config.Lease %v", cfg.Keep, lease)
	case cfg.NodeTimeout < 0:
		return fmt.Errorf("redlock: Config.NodeTimeout %v is negative", cfg.NodeTimeout)
	case cfg.NodeTimeout < minNodeTimeout:
		return fmt.Errorf("redlock: Config.NodeTimeout %v is shorter than %v: a master that is well may take longer", cfg.NodeTimeout, minNodeTimeout)
	case cfg.NodeTimeout >= lease:
		return fmt.Errorf("redlock: Config.NodeTimeout %v is not shorter than Config.Lease %v: an answer that late grants nothing", cfg.NodeTimeout, lease)
	}
	return nil
}

// checkLease refuses a lease that no hold can have once it is cut to whole milliseconds. The error
// calls it what, and shows it as it was given.
func (cfg *Config) checkLease(what string, lease time.Duration) error {
	whole := lease.Truncate(time.Millisecond)
	if whole > cfg.MaxLease {
		return fmt.Errorf("redlock: %s %v is longer than Config.MaxLease %v, so a master that restarts would not wait for it: "+
			"set Config.MaxLease here, and Config.RestartGuard of each client of these masters, to %v or more", what, lease, cfg.MaxLease, lease)
	}
	switch {
	case lease <= 0:
		return fmt.Errorf("redlock: %s %v is not positive", what, lease)
	case clock.Validity(whole, 0) <= 0:
		return fmt.Errorf("redlock: %s %v is too short: the allowance for clock drift is %v", what, lease, clock.Drift(whole))
	}
	return nil
}

// patience is for how long Close waits for functions of the user: those of Trace, and the handler of Logger.
func (cfg *Config) patience() time.Duration { return max(cfg.NodeTimeout, maxNodeTimeout) }

// masters makes the nodes, and returns the pools that are the client's own.
func (cfg *Config) masters() (*multilock.Masters, []*redis.Pool, error) {
	dialer := server.Dialer{TLS: cfg.TLS, Credentials: cfg.Credentials, Dial: cfg.Dial}
	pools, names, err := dialer.Pools(cfg.Pools, cfg.Masters)
	if err != nil {
		return nil, nil, err
	}
	for i := range pools {
		for j := range i {
			if pools[i] == pools[j] || names[i] == names[j] {
				return nil, nil, fmt.Errorf("redlock: Config has the same master twice, as %d and %d: %s", j, i, names[i])
			}
		}
	}
	guard := max(cfg.RestartGuard, 0)
	registry, trace := new(node.Registry), tracer.New(outwardTrace(cfg.Trace), uuid.NewString(), names, cfg.patience())
	nodes := make([]*node.Node, len(pools))
	for i := range nodes {
		nodes[i] = node.New(node.Config{
			Index:    i,
			Name:     names[i],
			Pool:     pools[i],
			Prefix:   script.Prefix(cfg.Prefix),
			Timeout:  cfg.NodeTimeout,
			Guard:    guard,
			MaxLease: cfg.MaxLease,
			Lease:    cfg.Lease,
			Registry: registry,
			Logger:   cfg.Logger,
			Trace:    trace,
		})
	}
	return multilock.New(nodes, cfg.Logger, trace), pools[len(cfg.Pools):], nil
}
