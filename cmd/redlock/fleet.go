package main

import (
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktrace"
)

// fleetFlags say what every subcommand needs to know about the masters. Flags with a variable can also be set in a
// configuration file: see settings.
type fleetFlags struct {
	Config        string    `env:"REDLOCK_CONFIG" placeholder:"FILE" predictor:"file" help:"A file with settings (redlock help config); flags and variables win over it."`
	Masters       addresses `env:"REDLOCK_MASTERS" placeholder:"URL" help:"The independent Redis masters, an odd number of them: host:port, redis:// or rediss:// (TLS) URLs, unix:///path or /path for a socket. Every process must name the same ones. Passwords belong elsewhere: others can read a command line."`
	Username      string    `env:"REDLOCK_USERNAME" help:"The user for masters whose URL names none."`
	Password      string    `hidden:"" env:"REDLOCK_PASSWORD"` // a flag only for its variable and key: see credentials
	PasswordFile  string    `env:"REDLOCK_PASSWORD_FILE" placeholder:"FILE" predictor:"file" help:"A file with the password for masters whose URL has none. The password itself can be in $$REDLOCK_PASSWORD."`
	TLSCA         string    `name:"tls-ca" env:"REDLOCK_TLS_CA" placeholder:"FILE" predictor:"file" help:"The certificate authorities that rediss:// masters are checked against (PEM). Default: those of the system."`
	TLSCert       string    `name:"tls-cert" env:"REDLOCK_TLS_CERT" placeholder:"FILE" predictor:"file" help:"The certificate that rediss:// masters ask for (PEM)."`
	TLSKey        string    `name:"tls-key" env:"REDLOCK_TLS_KEY" placeholder:"FILE" predictor:"file" help:"Its private key. Default: in the file of the certificate."`
	TLSServerName string    `name:"tls-server-name" env:"REDLOCK_TLS_SERVER_NAME" placeholder:"HOST" help:"The host in the certificates of rediss:// masters. Default: the host in each URL."`
	NodeTimeout   positive  `env:"REDLOCK_NODE_TIMEOUT" placeholder:"500ms" help:"How long to wait for one master's answer. Default: a tenth of the lease, at most 500ms."`
	MaxLease      positive  `env:"REDLOCK_MAX_LEASE" placeholder:"LEASE" help:"The longest lease that any process uses on these masters. Default: the lease."`
	RestartGuard  guard     `env:"REDLOCK_RESTART_GUARD" placeholder:"MAX-LEASE" help:"How long a master that restarted grants nothing, since it may have forgotten what it granted. Default: the longest lease, at least 30s; use off for masters that run with appendfsync always."`
	NoGuard       bool      `name:"no-restart-guard" help:"The same as --restart-guard=off."`
	Prefix        string    `env:"REDLOCK_PREFIX" placeholder:"PREFIX" help:"What the names have in front of them on the masters, and nowhere else: with orders: the lock 42 is orders:42 there. For users who may use no other names."`
	ClientName    string    `env:"REDLOCK_CLIENT_NAME" placeholder:"NAME" help:"What this process is called to others, who see who holds a lock. Default: the name of the command, or redlock."`
	Verbose       bool      `short:"v" env:"REDLOCK_VERBOSE" help:"Log everything to stderr."`

	onlyLooks bool // takes no locks, so it keeps no record on the masters
	trace     *redlocktrace.Trace
}

// open returns a client that takes locks for lease. It does not wait for the network, so an error is
// about what the user wrote. Errors name the lease by the origin of the flag leaseFlag.
func (f *fleetFlags) open(lease time.Duration, leaseFlag string, from origins, stderr io.Writer) (*redlock.Client, error) {
	cfg, err := f.config(lease, from, stderr)
	if err != nil {
		return nil, err
	}
	client, err := redlock.New(cfg)
	if err != nil {
		return nil, fail(exitUsage, "%s", asFlags(err, leaseFlag, from))
	}
	return client, nil
}

// config returns the configuration of a client that takes locks for lease.
func (f *fleetFlags) config(lease time.Duration, from origins, stderr io.Writer) (redlock.Config, error) {
	cfg := redlock.Config{
		Lease:        lease,
		MaxLease:     time.Duration(f.MaxLease),
		RestartGuard: time.Duration(f.RestartGuard),
		NodeTimeout:  time.Duration(f.NodeTimeout),
		Prefix:       f.Prefix,
		Name:         f.ClientName,
		NoRecord:     f.onlyLooks,
		Logger:       f.logger(stderr),
		Trace:        f.trace,
	}
	if f.NoGuard {
		if f.RestartGuard != 0 && from.onLine("restart-guard") {
			return cfg, fail(exitUsage, "--restart-guard and --no-restart-guard cannot be used together")
		}
		cfg.RestartGuard = redlock.GuardOff
	}
	var err error
	if cfg.Credentials, err = f.credentials(from); err != nil {
		return cfg, fail(exitUsage, "%w", err)
	}
	if len(f.Masters) == 0 && from.onLine("masters") {
		return cfg, fail(exitUsage, "no masters are named: use --masters, REDLOCK_MASTERS, or a file with them and --config (redlock help config)")
	}
	cfg.Masters = f.Masters
	if cfg.TLS, err = f.tlsConfig(from); err != nil {
		return cfg, fail(exitUsage, "%w", err)
	}
	return cfg, nil
}

// env returns the variables that lead a redlock inside the command to the same masters and names: what this one got as
// flags. Only passwords that the user wrote into --masters are in REDLOCK_MASTERS. The prefix belongs to the masters, so it
// is there even if it is empty: the inner redlock may read a file that has another.
func (f *fleetFlags) env(from origins) []string {
	env := []string{"REDLOCK_MASTERS=" + kong.JoinEscaped(f.Masters, ','), "REDLOCK_PREFIX=" + f.Prefix}
	for _, one := range []struct{ flag, variable, value string }{
		{"config", "REDLOCK_CONFIG", absolute(f.Config)},
		{"username", "REDLOCK_USERNAME", f.Username},
		{"password-file", "REDLOCK_PASSWORD_FILE", absolute(f.PasswordFile)},
		{"tls-ca", "REDLOCK_TLS_CA", absolute(f.TLSCA)},
		{"tls-cert", "REDLOCK_TLS_CERT", absolute(f.TLSCert)},
		{"tls-key", "REDLOCK_TLS_KEY", absolute(f.TLSKey)},
		{"tls-server-name", "REDLOCK_TLS_SERVER_NAME", f.TLSServerName},
	} {
		if one.value != "" && from.onLine(one.flag) {
			env = append(env, one.variable+"="+one.value)
		}
	}
	if f.PasswordFile != "" && from.onLine("password-file") {
		env = append(env, "REDLOCK_PASSWORD=") // or it would conflict with the variable of the file
	}
	return env
}

// absolute returns a path that is also right in another directory.
func absolute(path string) string {
	if path == "" {
		return ""
	}
	if whole, err := filepath.Abs(path); err == nil {
		return whole
	}
	return path
}

// asFlags returns the text of err with the user's flags and variables in place of fields of redlock.Config.
func asFlags(err error, leaseFlag string, from origins) string {
	return strings.NewReplacer(
		"Config has no Masters and no Pools", from["masters"]+" is empty",
		"Config has", from["masters"]+" has",
		"Config.TLS", from["tls"],
		"Config.Name", from["client-name"],
		"Config.Prefix", from["prefix"],
		"Config.Masters", from["masters"],
		"Config.NodeTimeout", from["node-timeout"],
		"Config.MaxLease", from["max-lease"],
		"Config.RestartGuard", from["restart-guard"],
		"Config.Lease", from[leaseFlag],
	).Replace(err.Error())
}

// lookLease returns the lease of a client that takes no locks: it only has to be long enough for the node timeout, and
// no longer than the guard.
func (f *fleetFlags) lookLease() time.Duration {
	if f.MaxLease > 0 {
		return time.Duration(f.MaxLease)
	}
	lease := max(defaultLease, 10*time.Duration(f.NodeTimeout))
	if f.RestartGuard > 0 {
		lease = min(lease, time.Duration(f.RestartGuard))
	}
	return lease
}

// openToLook returns a client that takes no locks. It logs nothing unless asked to, since the answers say what is
// wrong with a master.
func (f *fleetFlags) openToLook(from origins, stderr io.Writer) (*redlock.Client, error) {
	if !f.Verbose {
		stderr = io.Discard
	}
	f.onlyLooks = true
	return f.open(f.lookLease(), "max-lease", from, stderr)
}

// logger returns a logger that writes warnings, or everything with --verbose.
func (f *fleetFlags) logger(stderr io.Writer) *slog.Logger {
	if f.Verbose {
		return slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	return slog.New(newPlainLog(stderr))
}

// closeSoon closes client, and waits no longer than unlockLimit.
//
// Goroutines: one. It ends when Close returns, or with the process.
func closeSoon(client *redlock.Client) {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		_ = client.Close() // what could not be released ends with its lease
	}()
	select {
	case <-closed:
	case <-time.After(unlockLimit):
	}
}
