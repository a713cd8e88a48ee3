package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.com/redlock/internal/quote"
	"example.com/redlock/redlock"
)

// Exit codes, whose meanings are in manual.tmpl. Those between 64 and 78 are from sysexits.h, which scripts and mailers
// know; 126, 127 and 128+n are the shell's. A command may end with the same numbers: then stderr tells whose it is, since
// redlock says there why it ended.
const (
	exitOK            = 0
	exitNo            = 1   // the answer is no
	exitUsage         = 64  // EX_USAGE: bad arguments
	exitNoQuorum      = 69  // EX_UNAVAILABLE: too few masters answered
	exitSoftware      = 70  // EX_SOFTWARE: should not happen
	exitTaken         = 75  // EX_TEMPFAIL: not acquired, or not in time
	exitLost          = 76  // the hold was lost while the command ran
	exitConflict      = 78  // EX_CONFIG: settings that conflict with those of others
	exitNotExecutable = 126 // the command exists but cannot be run
	exitNotFound      = 127 // there is no such command
	exitSignal        = 128 // plus n: ended by signal n
)

// exitError ends the program with code. If err is not nil, it is printed first.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// fail returns an error that prints the message and ends the program with code.
func fail(code int, format string, args ...any) error {
	return &exitError{code: code, err: fmt.Errorf(format, args...)}
}

// quiet ends the program with code and prints nothing more.
func quiet(code int) error {
	if code == 0 {
		return nil
	}
	return &exitError{code: code}
}

// plain returns the text of err on one line, without "redlock: ", with which the library's errors begin:
// the line begins with it already.
func plain(err error) string {
	return quote.Text(strings.ReplaceAll(err.Error(), "redlock: ", ""))
}

// codeOf maps an error of the library to an exit code, and returns the one that an [*exitError] has.
//
// The error of a wait that was cut short matches both the reason for waiting and ctx's error.
// ErrNoQuorum is checked first: a client that cannot reach a majority does not know whether the lock
// is taken.
func codeOf(err error) int {
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code
	}
	if conflicts(err) {
		return exitConflict
	}
	if errors.Is(err, redlock.ErrNoQuorum) {
		return exitNoQuorum
	}
	if errors.Is(err, redlock.ErrTaken) || errors.Is(err, context.DeadlineExceeded) {
		return exitTaken
	}
	if _, ok := errors.AsType[*redlock.MajorityError](err); ok {
		return exitSoftware
	}
	return exitUsage // an invalid name or lease
}

// conflicts reports whether others use the masters in a way that conflicts with the client's.
func conflicts(err error) bool {
	_, conflict := errors.AsType[*redlock.ConflictError](err)
	return conflict
}

// refuse adds an exit code to err, the error of a call to the library. If the library refused the call
// without asking a master, the reason is the lock's name, since everything else was checked when the
// client was made. name is what the user calls that name: the flag, variable or argument.
func refuse(err error, name string) error {
	code := codeOf(err)
	if code == exitUsage {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return fail(code, "%w", err)
}
