package main

import (
	"fmt"

	"github.com/alecthomas/kong"
)

const description = `Locks that a majority of independent Redis masters grants.

A lock is held as long as a majority of the masters says so. With five of them, any two may die,
hang or be cut off: it can still be taken, and there is still one holder at most. See it without
installing anything:

  redlock demo`

const runHelp = `
The command starts once the lock is held, and the lock is given back when it has ended; meanwhile
it is renewed. When it cannot be renewed, the command is ended: TERM when what is left is down to the
grace, KILL at the end of validity, before somebody else can get the lock. After a loss that nobody
could foresee: TERM at once, KILL after the grace. One of those is redlock unlock --force, which is
noticed at the next renewal: until then, and for the grace, somebody else may have the lock as well.

No lock stops a command whose machine sleeps or hangs. Hand REDLOCK_TOKEN to what the command writes
to, if that can refuse a token smaller than one it has seen.`

const runNotes = `
Examples:
  Run a job on one machine at a time, and skip it where another one runs it:
    redlock run --masters m1:6379,m2:6379,m3:6379 --name nightly --no-wait -- ./report.sh

  The same with the masters from the environment, waiting up to a minute:
    export REDLOCK_MASTERS=redis://:secret@m1:6379,redis://:secret@m2:6379,redis://:secret@m3:6379
    redlock run --name nightly --wait 1m -- ./report.sh

  Leave it time to clean up when the hold is lost:
    redlock run --name nightly --lease 1m --grace 20s -- ./report.sh

Environment:
  Every flag with a $NAME behind it can come from there; the flag wins.
  The command inherits the environment, passwords included, with these set:
    REDLOCK_NAME     the lock's name
    REDLOCK_TOKEN    the fencing token: greater than that of every earlier holder
    REDLOCK_MASTERS  the masters that grant the lock, so that redlock inspect "$REDLOCK_NAME" works

Signals:
  INT, TERM, HUP and QUIT go to all processes of the command, USR1, USR2 and WINCH to the command.
  While redlock waits for the lock the first four end the wait, and nothing is left behind.
  On a terminal Ctrl-C, Ctrl-\ and Ctrl-Z reach the command directly; to stop redlock alone
  send it TERM. A job that was stopped for longer than its hold lived is ended when it goes on.
  When redlock itself is killed, the command is too (on Linux and Windows).
  What the command leaves running in the background goes on without the lock.

Exit codes:
  The command's own, 128+n if signal n ended it, or
   64  bad arguments, or a variable that is wrong
   69  too few masters answered
   70  a fault of redlock itself
   75  not locked: taken by somebody else, or not free in time
   76  the hold was lost: the command was ended, or ended by itself with 0 but too late
  126  the command cannot be run
  127  the command was not found
  128+n  signal n ended the wait`

const inspectNotes = `
Columns:
  HOLDER  who holds it on that master: client id and attempt, as stored there
  COUNT   how many times its holder has entered
  LEFT    until that master drops it by itself, unless it is renewed
  TOKEN   the fencing token counted up to there
  NOTE    why the master did not answer, or grants nothing

Exit codes:
    0  held
    1  free
   64  bad arguments
   69  too few masters answered to know`

const unlockNotes = `
A holder that is at work is not asked. It learns of its loss at its next renewal, after a third of its
lease at the latest, and until then works beside the next holder.

Exit codes:
    0  it is free now, whether or not somebody held it: the output says which
   64  bad arguments, or no --force
   69  too few masters answered: it may still be held`

const demoHelp = `
Five masters run inside this process, and two clients contend for one lock. Two masters are killed
while it is held, then a third, which comes back just in time; then the second client gets its turn.
It takes about ten seconds.`

const demoNotes = `
Exit codes:
    0  everything that it claims to show was measured
    1  something was not`

const appNotes = `
Exit codes:
   64  bad arguments, or a variable that is wrong
   69  too few masters answered
   70  a fault of redlock itself
  and those of each command, see its --help.`

// Help is the long help text.
func (*runCmd) Help() string { return runHelp }

// printHelp prints kong's help and, below the flags, the notes of the command.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	notes := appNotes
	if selected := ctx.Selected(); selected != nil {
		notes = map[string]string{
			"run": runNotes, "inspect": inspectNotes, "unlock": unlockNotes, "demo": demoNotes,
		}[selected.Name]
	}
	if notes == "" {
		return nil
	}
	_, err := fmt.Fprintln(ctx.Stdout, notes)
	return err
}
