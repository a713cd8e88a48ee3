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
	"strconv"
	"strings"
	"time"

	"example.com/redlock/redlock"
)

const (
	defaultLease = 30 * time.Second

	// unlockLimit bounds the release after the command has ended. What is not
	// confirmed by then ends with the lease.
	unlockLimit = 5 * time.Second
)

type runCmd struct {
	fleetFlags

	Name    string         `required:"" env:"REDLOCK_NAME" placeholder:"NAME" help:"What to lock."`
	Lease   time.Duration  `default:"30s" env:"REDLOCK_LEASE" help:"For how long the masters grant the lock; renewed every third of it. So long can it take until others get the lock after this machine has died."`
	Wait    *time.Duration `env:"REDLOCK_WAIT" xor:"wait" placeholder:"10s" help:"How long to wait for the lock; 0: one try. Default: for ever."`
	NoWait  bool           `xor:"wait" help:"Try once: the same as --wait=0."`
	Grace   time.Duration  `default:"5s" env:"REDLOCK_GRACE" help:"How long before the end of a hold that cannot be renewed the command gets TERM; at the end it gets KILL. At most a third of the lease."`
	Command []string       `arg:"" passthrough:"partial" help:"The command and its arguments."`
}

// Run locks, runs the command, unlocks.
func (r *runCmd) Run(std streams) error {
	if err := r.check(); err != nil {
		return err
	}
	path, err := find(r.Command[0])
	if err != nil {
		return err
	}
	client, err := r.open(r.Lease, std.err)
	if err != nil {
		return err
	}
	defer closeWithin(client, unlockLimit)

	own := !foreground()
	signals := listen(own)
	defer signal.Stop(signals)

	log := r.logger(std.err).With("name", r.Name)
	hold, err := r.acquire(client, signals, log)
	if err != nil {
		return err
	}
	log.Info("locked", "token", hold.Token(), "owner", hold.Owner())
	code, err := r.underLock(hold, &exec.Cmd{
		Path: path, Args: r.Command,
		Env:   childEnv(os.Environ(), r.Name, hold.Token()),
		Stdin: std.in, Stdout: std.out, Stderr: std.err,
	}, own, signals, log)

	ctx, cancel := context.WithTimeout(context.Background(), unlockLimit)
	defer cancel()
	if unlockErr := hold.Unlock(ctx); unlockErr != nil && code != exitLost {
		fmt.Fprintf(std.err, "redlock: warning: %s\n", plain(unlockErr))
	}
	if err != nil {
		return &exitError{code: code, err: err}
	}
	return quiet(code)
}

// underLock runs cmd until it or the hold ends. An error says what redlock, not
// the command, has to tell.
func (r *runCmd) underLock(h held, cmd *exec.Cmd, own bool, signals <-chan os.Signal, log *slog.Logger) (int, error) {
	c, err := startChild(cmd, own)
	if err != nil {
		return startCode(err), err
	}
	log.Info("started", "pid", c.pid, "own group", own)
	code, lost := supervise(c, h, min(r.Grace, r.Lease/3), signals, log)
	log.Info("the command has ended", "code", code)
	if lost {
		cause := context.Cause(h.Context())
		if cause == nil {
			cause = redlock.ErrLost
		}
		return exitLost, fmt.Errorf("the command was ended, its hold of %q could not be kept: %w", r.Name, cause)
	}
	return code, nil
}

// check refuses what can be refused without asking anybody, and strips the -- that kong leaves in.
func (r *runCmd) check() error {
	if len(r.Command) > 0 && r.Command[0] == "--" {
		r.Command = r.Command[1:]
	}
	if len(r.Command) == 0 || r.Command[0] == "" {
		return fail(exitUsage, "no command to run")
	}
	if r.Wait != nil && *r.Wait < 0 {
		return fail(exitUsage, "--wait %v is negative", *r.Wait)
	}
	if r.Grace < 0 {
		return fail(exitUsage, "--grace %v is negative", r.Grace)
	}
	// The child inherits REDLOCK_NAME, so a second redlock run inside of the first easily
	// asks for the same lock, and would wait for the end of its own caller.
	if os.Getenv("REDLOCK_TOKEN") != "" && os.Getenv("REDLOCK_NAME") == r.Name {
		return fail(exitUsage, "this already runs inside of a redlock run that holds %q (if not so, unset REDLOCK_TOKEN)", r.Name)
	}
	return nil
}

// find looks the command up before there is a lock, so that a typing error costs nobody anything.
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

// startCode returns the exit code for a command that was found and did not start.
func startCode(err error) int {
	if errors.Is(err, fs.ErrNotExist) {
		return exitNotFound
	}
	return exitNotExecutable
}

// childEnv returns what the command gets of environ: all but the masters' URLs, which may
// have passwords in them, and the lock's name and token in addition.
func childEnv(environ []string, name string, token int64) []string {
	env := make([]string, 0, len(environ)+2)
	for _, entry := range environ {
		key, _, _ := strings.Cut(entry, "=")
		switch key {
		case "REDLOCK_MASTERS", "REDLOCK_NAME", "REDLOCK_TOKEN":
		default:
			env = append(env, entry)
		}
	}
	return append(env, "REDLOCK_NAME="+name, "REDLOCK_TOKEN="+strconv.FormatInt(token, 10))
}

// listen starts to catch signals. One that was ignored when redlock started (nohup) stays so.
func listen(own bool) chan os.Signal {
	signals := make(chan os.Signal, 16) // os/signal drops what finds no room
	for _, sig := range caught(own) {
		if !signal.Ignored(sig) {
			signal.Notify(signals, sig)
		}
	}
	return signals
}
