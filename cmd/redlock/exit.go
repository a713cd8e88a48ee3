package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"example.com/redlock/redlock"
)

// Exit codes. Those between 64 and 78 are the ones of sysexits.h, which scripts and mailers know;
// 126, 127 and 128+n are the shell's. A command may well use the same numbers: a caller
// that must tell them apart looks at stderr, where redlock says why it ended.
const (
	exitNo            = 1   // inspect: free; demo: a claim did not hold
	exitUsage         = 64  // EX_USAGE: bad arguments
	exitNoQuorum      = 69  // EX_UNAVAILABLE: too few masters answered
	exitSoftware      = 70  // EX_SOFTWARE: what should not happen
	exitTaken         = 75  // EX_TEMPFAIL: not acquired, or not in time
	exitLost          = 76  // the hold was lost while the command ran
	exitNotExecutable = 126 // the command is there and cannot be run
	exitNotFound      = 127 // there is no such command
	exitSignal        = 128 // plus n: ended by signal n
)

// exitError ends the program with code. err, when not nil, is printed first.
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

// quiet ends the program with code and prints nothing: what there was to say has been said.
func quiet(code int) error {
	if code == 0 {
		return nil
	}
	return &exitError{code: code}
}

// plain is err without the name of the library, which it begins its errors with: on a line that
// begins with it anyway, once is enough.
func plain(err error) string {
	return strings.ReplaceAll(err.Error(), "redlock: ", "")
}

// codeOf maps an error of the library to an exit code.
//
// A wait that was cut short matches both the state it was waiting on and ctx's error. The masters
// come first: who cannot reach a majority does not know whether the lock is taken.
func codeOf(err error) int {
	if errors.Is(err, redlock.ErrNoQuorum) {
		return exitNoQuorum
	}
	if errors.Is(err, redlock.ErrTaken) || errors.Is(err, context.DeadlineExceeded) {
		return exitTaken
	}
	if _, ok := errors.AsType[*redlock.MajorityError](err); ok {
		return exitSoftware
	}
	return exitUsage // refused before anybody was asked: a name or a lease that cannot be
}

// refuse returns err, of a call to the library, with its exit code. What the library refused without
// asking anybody was the lock's name, since all else was checked when the client was made: name is
// what the user knows that by.
func refuse(err error, name string) error {
	code := codeOf(err)
	if code == exitUsage {
		err = fmt.Errorf("%s: %w", name, err)
	}
	return fail(code, "%w", err)
}
