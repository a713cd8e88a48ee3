package main

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/redlock/redlock"
)

const (
	defaultLease = 30 * time.Second
	defaultGrace = 5 * time.Second

	maxClientName = 100 // bytes: see redlock.Config

	// unlockLimit bounds the release after the command has ended. A lock whose release is not confirmed by then ends
	// with its lease.
	unlockLimit = 5 * time.Second
)

type runCmd struct {
	lockFlags
	Grace   *patience `env:"REDLOCK_GRACE" placeholder:"5s" help:"If the hold cannot be renewed, the command gets TERM this long before the hold ends, and KILL when it ends. Default: 5s; at most a third of the lease."`
	AtLeast patience  `placeholder:"DURATION" help:"Keep the lock for at least that long, also if the command ends sooner: cron starts a job on several machines at slightly different times."`
	Script  *string   `short:"c" placeholder:"SCRIPT" help:"Run this with the shell (sh -c; on Windows cmd /c) instead of a command."`
	Command []string  `arg:"" optional:"" passthrough:"partial" help:"The command and its arguments."`
	fleetFlags
}

// Run locks, runs the command, unlocks.
func (r *runCmd) Run(std streams, from origins) error {
	if err := r.check(from); err != nil {
		return err
	}
	cmd, err := r.command(from)
	if err != nil {
		return err
	}
	if r.ClientName == "" && r.Script == nil {
		name := filepath.Base(r.Command[0])
		r.ClientName = name[:min(len(name), maxClientName)]
	}
	if r.Grace != nil && time.Duration(*r.Grace) > r.grace() {
		r.logger(std.err).Warn("the grace is longer than a third of the lease, and is cut to that",
			"name", strings.Join(r.Name, ", "), "grace", time.Duration(*r.Grace), "used", r.grace())
	}
	own := !hasTerminal()
	var code int
	var ended error
	var inTime bool
	unlocked, err := r.under(&r.fleetFlags, own, from, std.err, func(hold grip, signals <-chan os.Signal, log *slog.Logger) {
		cmd.Env = r.childEnv(from, holdsOf(hold))
		cmd.Stdin, cmd.Stdout, cmd.Stderr = std.in, std.out, std.err
		locked := time.Now()
		code, ended = r.underLock(hold, cmd, own, signals, log)
		inTime = ended == nil && r.linger(hold, locked, signals, log)
	})
	switch {
	case err != nil:
		return err
	case code == 0 && !inTime && errors.Is(unlocked, redlock.ErrLost):
		return fail(exitLost, "the command ended by itself, but its hold of %s was lost before that: %w", r.quoted(), unlocked)
	case unlocked != nil && code != exitLost:
		fmt.Fprintf(std.err, "redlock: warning: %s\n", plain(unlocked))
	}
	if ended != nil {
		return &exitError{code: code, err: ended}
	}
	return quiet(code)
}

// linger keeps the lock until it has been held for as long as --at-least says, or a signal comes. It reports whether it
// had anything to keep: the command ended early, and the hold was still valid.
func (r *runCmd) linger(h held, locked time.Time, signals <-chan os.Signal, log *slog.Logger) bool {
	left := time.Until(locked.Add(time.Duration(r.AtLeast)))
	if left <= 0 || h.Context().Err() != nil {
		return false
	}
	_ = stay(h, signals, time.After(left), log)
	return true
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

// underLock runs cmd until it or the hold ends. Its error is one of redlock, not of the command.
func (r *runCmd) underLock(h held, cmd *exec.Cmd, own bool, signals <-chan os.Signal, log *slog.Logger) (int, error) {
	if by := endsAlready(signals); by != nil { // there was no command to which the terminal could send it
		return signalCode(by), fmt.Errorf("%w before the command started", signalled{by})
	}
	c, err := startChild(cmd, own)
	if err != nil {
		return startCode(err), err
	}
	log.Info("started", "pid", c.pid, "own group", own)
	code, lost := supervise(c, h, r.grace(), time.Duration(r.Lease), signals, log)
	log.Info("the command has ended", "code", code)
	if lost != nil {
		return exitLost, fmt.Errorf("the command was ended, since its hold of %s could not be kept: %w", r.quoted(), lost)
	}
	return code, nil
}

// check refuses what can be refused without asking a master, and strips the -- that kong leaves in.
func (r *runCmd) check(from origins) error {
	dashes := len(r.Command) > 0 && r.Command[0] == "--"
	if dashes {
		r.Command = r.Command[1:]
	}
	given := len(r.Command) > 0 && r.Command[0] != ""
	_, missing := exec.LookPath(append(r.Command, "")[0])
	isName := r.unnamed(from) && len(r.Command) > 1 && !dashes && missing != nil // as far as one can tell
	switch {
	case isName && r.Script == nil && slices.Contains(r.Command, "-c"):
		return fail(exitUsage, "put -c before the name: redlock run -c SCRIPT %s", r.Command[0])
	case isName && !strings.HasPrefix(r.Command[1], "-"):
		return fail(exitUsage, "put -- before the command: redlock run %s -- %s", r.Command[0], strings.Join(r.Command[1:], " "))
	case r.Script != nil && len(r.Command) > 0:
		return fail(exitUsage, "-c and a command cannot be used together: %s", strings.Join(r.Command, " "))
	case r.unnamed(from) && given:
		return fail(exitUsage, "no lock is named; write: redlock run NAME -- %s", strings.Join(r.Command, " "))
	case r.unnamed(from):
		return fail(exitUsage, "no lock is named; write: redlock run NAME -- COMMAND")
	case r.Script == nil && !given:
		return fail(exitUsage, "no command to run; write: redlock run NAME -- COMMAND")
	case strings.Contains(strings.Join(r.Name, "")+r.Prefix, "\x00"):
		return fail(exitUsage, "a zero byte is in %s, %q, or in the prefix: the command's environment cannot have one", from["name"], r.Name)
	}
	return r.lockFlags.check(r.Prefix, from)
}

// command returns what to run, and says so if it is not there.
func (r *runCmd) command(from origins) (*exec.Cmd, error) {
	if r.Script != nil {
		return shell(*r.Script)
	}
	path, err := find(r.Command[0])
	if err != nil && slices.Contains(r.Command, "--") && !from.onLine("name") {
		return nil, fail(codeOf(err), "%w (%s names the lock, so this is the command; to lock it instead, use --name)", err, from["name"])
	}
	return &exec.Cmd{Path: path, Args: r.Command}, err
}

// find looks the command up before taking the lock, so that a typing error costs nobody anything.
func find(command string) (string, error) {
	path, err := exec.LookPath(command)
	if _, set := os.LookupEnv("PATH"); errors.Is(err, exec.ErrNotFound) && !set { // as execvp does, and so timeout and flock
		for _, dir := range []string{"/bin", "/usr/bin"} {
			if there, found := exec.LookPath(filepath.Join(dir, command)); found == nil {
				path, err = there, nil
			}
		}
	}
	if err == nil {
		return path, nil
	}
	if code := startCode(err); code != exitNotFound {
		return "", fail(code, "%s: cannot be run: %w", command, errors.Unwrap(err))
	}
	return "", fail(exitNotFound, "%s: command not found", command)
}

// startCode returns the exit code for a command that was not found, or did not start.
func startCode(err error) int {
	if errors.Is(err, exec.ErrNotFound) || errors.Is(err, fs.ErrNotExist) {
		return exitNotFound
	}
	return exitNotExecutable
}

// childEnv returns the environment of the command: that of redlock, with the names and tokens of the holds, and the
// variables that lead to the masters that granted them, so that a redlock inspect in a script asks the right ones. Of two
// entries for one variable, os/exec passes on the last. Several names are on a line each, in the order of their bytes,
// and their tokens on the same lines of the other variable. REDLOCK_HELD keeps a redlock run inside the command from
// waiting for this one.
//
// This includes the masters' passwords. The command runs as the same user as redlock and can read them
// anyway: leaving them out would break the script and protect nothing.
func (r *runCmd) childEnv(from origins, holds []*redlock.Hold) []string {
	var names, tokens []string
	for _, hold := range holds {
		names, tokens = append(names, hold.Name()), append(tokens, strconv.FormatInt(hold.Token(), 10))
	}
	env := slices.DeleteFunc(os.Environ(), func(entry string) bool { return strings.HasPrefix(entry, "REDLOCK_SLOT=") }) // of an outer redlock
	env = append(env, r.env(from)...)
	env = append(env, "REDLOCK_HELD="+strings.Join(append(heldOutside(), r.entries(r.Prefix)...), "\n"))
	env = append(env, "REDLOCK_NAME="+strings.Join(names, "\n"), "REDLOCK_TOKEN="+strings.Join(tokens, "\n"))
	if r.Permits > 0 {
		env = append(env, "REDLOCK_SLOT="+strconv.Itoa(holds[0].Slot()))
	}
	return env
}
