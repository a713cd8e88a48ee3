package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"example.com/redlock/redlock"
)

const (
	defaultLease = 30 * time.Second
	defaultGrace = 5 * time.Second

	// unlockLimit limits how long the release takes after the command has ended. What is not confirmed
	// by then ends with the lease.
	unlockLimit = 5 * time.Second
)

type runCmd struct {
	fleetFlags

	Name    []string  `required:"" sep:"\n" env:"REDLOCK_NAME" placeholder:"NAME" help:"What to lock. Given several times, all are locked together; in the variable, one name per line."`
	Shared  bool      `help:"Lock for reading: together with others who do, and not beside anybody who does not."`
	Permits permits   `placeholder:"K" help:"Take one of K permits of that name, instead of locking it: at most K commands run at the same time. Everybody should name the same K, 1 to 1000."`
	Lease   positive  `default:"30s" env:"REDLOCK_LEASE" help:"How long the masters grant the lock for; it is renewed every third of that. If this machine dies, others can get the lock after that time."`
	Wait    *patience `env:"REDLOCK_WAIT" placeholder:"DURATION" help:"How long to wait for the lock, such as 10s; 0 means one try. Default: forever."`
	NoWait  bool      `help:"Try once: the same as --wait=0."`
	Grace   *patience `env:"REDLOCK_GRACE" placeholder:"5s" help:"If the hold cannot be renewed, the command gets TERM this long before the hold ends, and KILL when it ends. Default: 5s; at most a third of the lease."`
	Command []string  `arg:"" passthrough:"partial" help:"The command and its arguments."`
}

// Run locks, runs the command, unlocks.
func (r *runCmd) Run(std streams, from origins) error {
	if err := r.check(from); err != nil {
		return err
	}
	path, err := find(r.Command[0])
	if err != nil {
		return err
	}
	client, err := r.open(time.Duration(r.Lease), "lease", from, std.err)
	if err != nil {
		return err
	}
	defer closeWithin(client, unlockLimit)

	own := !foreground()
	signals := listen(own)
	defer signal.Stop(signals)

	log := r.logger(std.err).With("name", strings.Join(r.Name, ", "))
	if r.Grace != nil && time.Duration(*r.Grace) > r.grace() {
		log.Warn("the grace is longer than a third of the lease, and is cut to that", "grace", time.Duration(*r.Grace), "used", r.grace())
	}
	hold, err := r.acquire(client, from, signals, log)
	if err != nil {
		return err
	}
	for _, one := range holdsOf(hold) {
		log.Info("locked", "lock", one.Name(), "slot", one.Slot(), "token", one.Token(), "owner", one.Owner())
	}
	code, err := r.underLock(hold, &exec.Cmd{
		Path: path, Args: r.Command,
		Env:   r.slotEnv(childEnv(os.Environ(), trimmed(r.Masters), holdsOf(hold)), hold),
		Stdin: std.in, Stdout: std.out, Stderr: std.err,
	}, own, signals, log)

	ctx, cancel := context.WithTimeout(context.Background(), unlockLimit)
	defer cancel()
	unlockErr := hold.Unlock(ctx)
	if code == 0 && errors.Is(unlockErr, redlock.ErrLost) {
		return fail(exitLost, "the command ended by itself, but its hold of %s was lost before that: %w", r.quoted(), unlockErr)
	}
	if unlockErr != nil && code != exitLost {
		fmt.Fprintf(std.err, "redlock: warning: %s\n", plain(unlockErr))
	}
	if err != nil {
		return &exitError{code: code, err: err}
	}
	return quiet(code)
}

// grace returns the grace that was asked for, but at most a third of the lease: a hold is down to two
// thirds before each renewal, and a renewal that fails should be repeated for a while before the
// command has to end.
func (r *runCmd) grace() time.Duration {
	asked := defaultGrace
	if r.Grace != nil {
		asked = time.Duration(*r.Grace)
	}
	return min(asked, (time.Duration(r.Lease) / 3).Truncate(time.Millisecond))
}

// underLock runs cmd until it or the hold ends. An error is what redlock itself has to report, not the
// command.
func (r *runCmd) underLock(h held, cmd *exec.Cmd, own bool, signals <-chan os.Signal, log *slog.Logger) (int, error) {
	c, err := startChild(cmd, own)
	if err != nil {
		return startCode(err), err
	}
	log.Info("started", "pid", c.pid, "own group", own)
	code, lost := supervise(c, h, r.grace(), signals, log)
	log.Info("the command has ended", "code", code)
	if lost {
		cause := context.Cause(h.Context())
		if cause == nil {
			cause = redlock.ErrLost
		}
		return exitLost, fmt.Errorf("the command was ended, since its hold of %s could not be kept: %w", r.quoted(), cause)
	}
	return code, nil
}

// check refuses what can be refused without asking a master, and strips the -- that kong leaves in.
func (r *runCmd) check(from origins) error {
	if len(r.Command) > 0 && r.Command[0] == "--" {
		r.Command = r.Command[1:]
	}
	if len(r.Command) == 0 || r.Command[0] == "" {
		return fail(exitUsage, "no command to run")
	}
	if len(r.Name) == 0 {
		r.Name = []string{""} // which the library refuses
	}
	if r.NoWait && r.Wait != nil {
		if from.onLine("wait") {
			return fail(exitUsage, "--wait and --no-wait cannot be used together")
		}
		r.Wait = nil // from the environment: the flag wins
	}
	switch {
	case r.Shared && r.Permits > 0:
		return fail(exitUsage, "--shared and --permits cannot be used together: permits are not locked for reading")
	case len(r.Name) > 1 && r.Shared:
		return fail(exitUsage, "--shared takes one %s, not %d", from["name"], len(r.Name))
	case len(r.Name) > 1 && r.Permits > 0:
		return fail(exitUsage, "--permits takes one %s, not %d", from["name"], len(r.Name))
	}
	// The child inherits REDLOCK_NAME, so a second redlock run inside the first would ask for the same
	// lock by default, and wait for the end of its own caller.
	if os.Getenv("REDLOCK_TOKEN") != "" {
		outer := strings.Split(os.Getenv("REDLOCK_NAME"), "\n")
		for _, name := range r.Name {
			if slices.Contains(outer, name) {
				return fail(exitUsage, "this already runs inside a redlock run that holds %q (if it does not, unset REDLOCK_TOKEN)", name)
			}
		}
	}
	return nil
}

// quoted returns the names for a message.
func (r *runCmd) quoted() string {
	quoted := make([]string, len(r.Name))
	for i, name := range r.Name {
		quoted[i] = strconv.Quote(name)
	}
	return strings.Join(quoted, ", ")
}

// find looks the command up before taking the lock, so that a typing error costs nobody anything.
func find(command string) (string, error) {
	path, err := exec.LookPath(command)
	if err == nil {
		return path, nil
	}
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return "", fail(exitNotFound, "%s: command not found", command)
	}
	return "", fail(exitNotExecutable, "%s: cannot be run: %w", command, errors.Unwrap(err))
}

// startCode returns the exit code for a command that was found but did not start.
func startCode(err error) int {
	if errors.Is(err, fs.ErrNotExist) {
		return exitNotFound
	}
	return exitNotExecutable
}

// token is the part of a hold that the command is told of.
type token interface {
	Name() string
	Token() int64
}

// childEnv returns the environment of the command: environ, the names and tokens of what is held, and
// the masters that granted it, so that a redlock inspect in a script asks the right ones. Where several
// names are held, there is one on each line, in the order of their bytes, and its token on the same line
// of the other variable.
//
// This includes the masters' passwords. The command runs as the same user as redlock and can read them
// anyway: leaving them out would break the script and protect nothing.
func childEnv[H token](environ, masters []string, holds []H) []string {
	env := slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		key, _, _ := strings.Cut(entry, "=")
		return key == "REDLOCK_MASTERS" || key == "REDLOCK_NAME" || key == "REDLOCK_TOKEN" || key == "REDLOCK_SLOT"
	})
	var names, tokens []string
	for _, hold := range holds {
		names, tokens = append(names, hold.Name()), append(tokens, strconv.FormatInt(hold.Token(), 10))
	}
	return append(env,
		"REDLOCK_MASTERS="+kong.JoinEscaped(masters, ','),
		"REDLOCK_NAME="+strings.Join(names, "\n"),
		"REDLOCK_TOKEN="+strings.Join(tokens, "\n"))
}

// slotEnv adds to env which slot a permit is.
func (r *runCmd) slotEnv(env []string, hold grip) []string {
	if r.Permits == 0 {
		return env
	}
	return append(env, "REDLOCK_SLOT="+strconv.Itoa(holdsOf(hold)[0].Slot()))
}

// listen starts to catch signals. A signal that was ignored when redlock started (nohup) stays ignored.
func listen(own bool) chan os.Signal {
	signals := make(chan os.Signal, 16) // os/signal drops signals that find no room
	for _, sig := range caught(own) {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	return signals
}
