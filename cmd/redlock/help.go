package main

import (
	"fmt"

	"github.com/alecthomas/kong"
)

const description = `Locks that are granted by a majority of independent Redis masters.

A lock is held as long as a majority of the masters says so. With five masters, any two may die, hang
or be cut off: the lock can still be taken, and there is still at most one holder. See it without
installing anything:

  redlock demo`

const runHelp = `
The command starts once the lock is held. The lock is renewed while the command runs, and released
when it has ended. If the lock cannot be renewed, the command is ended: it gets TERM when only the
grace is left, and KILL at the end of validity, before anybody else can get the lock. If the lock is
lost without warning, it gets TERM at once and KILL after the grace. One such case is
redlock unlock --force, which is noticed at the next renewal: until then, and during the grace,
somebody else may have the lock as well.

No lock stops a command whose machine sleeps or hangs. Pass REDLOCK_TOKEN to whatever the command
writes to, if that can refuse a token smaller than one it has seen.`

const runNotes = `
Examples:
  Run a job on one machine at a time, and skip it if another machine is running it:
    redlock run --masters m1:6379,m2:6379,m3:6379 --name nightly --no-wait -- ./report.sh

  The same, with the masters from the environment, waiting up to a minute:
    export REDLOCK_MASTERS=redis://:secret@m1:6379,redis://:secret@m2:6379,redis://:secret@m3:6379
    redlock run --name nightly --wait 1m -- ./report.sh

  Lock several names together, in whatever order others name them:
    redlock run --name account:3 --name account:7 -- ./transfer.sh

  Give it time to clean up when the hold is lost:
    redlock run --name nightly --lease 1m --grace 20s -- ./report.sh

  Read what others read as well, and nobody writes meanwhile:
    redlock run --name index --shared -- ./search.sh

  Run at most 4 at the same time in the whole fleet:
    redlock run --name gpu --permits 4 -- sh -c './train.sh --device "$REDLOCK_SLOT"'

Environment:
  Every flag with a $NAME after it can be set there; the flag wins.
  The command inherits the environment, passwords included, with these set:
    REDLOCK_NAME     the lock's name; of several, one on each line, in order
    REDLOCK_TOKEN    the fencing token: larger than that of every earlier holder; of several names,
                     the token of each on its line
    REDLOCK_SLOT     with --permits K: which permit it is, from 0 to K-1; the token is that of the slot
    REDLOCK_MASTERS  the masters that grant the lock, so that redlock inspect "$REDLOCK_NAME" works

Signals:
  INT, TERM, HUP and QUIT go to all processes of the command, USR1, USR2 and WINCH to the command
  itself. While redlock waits for the lock, the first four end the wait and leave nothing behind.
  On a terminal, Ctrl-C, Ctrl-\ and Ctrl-Z reach the command directly; to end a run from elsewhere,
  send redlock TERM. A job that is stopped for longer than its hold lasts is ended when it continues.
  If redlock itself is killed, so is the command (on Linux and Windows).
  Whatever the command leaves running in the background goes on without the lock.

Exit codes:
  The command's own, or 128+n if signal n ended it, or
   64  bad arguments, or a variable that is wrong
   69  too few masters answered
   70  a fault of redlock itself
   75  not locked: taken by somebody else, or not free in time
   76  the hold was lost: the command was ended, or ended by itself with 0 but too late
  126  the command cannot be run
  127  the command was not found
  128+n  signal n ended the wait`

// coprocess is how a shell script uses redlock hold.
const coprocess = `
  coproc LOCK { redlock hold nightly; }
  pid=$LOCK_PID
  if read -r token <&"${LOCK[0]}"; then   # held from here
    ./report.sh
    exec {LOCK[1]}>&-                     # to here
  fi
  wait "$pid"   # 0; or 75, 69, …: not locked; or 76: lost before the end
`

const holdHelp = `
The token is printed once the lock is held. The lock is renewed and held until stdin is closed, or
until a signal comes; then it is released. If the hold is lost before that, redlock says so and ends
at once with 76. Nothing stops the caller then: it has to look, or to do with redlock run.

In a shell, use it as a coprocess. If the shell dies, its end of the pipe is closed, and the lock is
released:
` + coprocess + `
If stdin is the null device, as for cron, services and the background jobs of a script, its end means
nothing, and only a signal ends the hold.`

const holdNotes = `
Output:
  TOKEN               one name
  TOKEN NAME          several names: a line for each, in the order of their bytes
  TOKEN SLOT          with --permits K: the permit's slot, from 0 to K-1
  {"held":[{"name":"nightly","token":1795280779002886,"owner":"…"}]}
                      with --json, on one line; a permit has a "slot" as well. Fields may be added.
  The lines are written at once. The token is larger than that of every earlier holder.

Exit codes:
    0  stdin was closed, and the lock released
   64  bad arguments, or a variable that is wrong
   69  too few masters answered
   70  a fault of redlock itself, or the token could not be printed
   75  not locked: taken by somebody else, or not free in time
   76  the hold was lost
  128+n  signal n ended the wait, or the hold: the lock is released`

const inspectNotes = `
Columns:
  HOLDER  who holds the lock on that master: client id and number, as stored there; or how many readers
  COUNT   the hold count: how many times its holder has entered
  LEFT    time until that master drops the lock, unless it is renewed
  TOKEN   the fencing counter on that master
  NOTE    why the master did not answer, or why it grants nothing
  HELD    with --permits: how many permits are held on that master; the slots that a majority agrees on
          are listed below
Below are the readers, if they have the lock, and who waits, and for what: the first one first.

Exit codes:
    0  held; with --permits: at least one permit is held
    1  free
   64  bad arguments
   69  too few masters answered to tell`

const unlockNotes = `
A holder that is still working is not asked. It learns of its loss at its next renewal, after a third
of its lease at the latest. Until then, it and the next holder work at the same time.

Exit codes:
    0  the lock is free now, whether or not somebody held it: the output says which
   64  bad arguments, or no --force
   69  too few masters answered: it may still be held`

const demoHelp = `
Five masters run inside this process, and two clients compete for one lock. While it is held, two
masters are killed, then a third, which comes back just in time. Then the second client gets the lock.
It takes about ten seconds.`

const demoNotes = `
Exit codes:
    0  every claim of the demo held
    1  a claim did not hold`

const appNotes = `
Exit codes:
   64  bad arguments, or a variable that is wrong
   69  too few masters answered
   70  a fault of redlock itself
  and those of each command: see its --help.`

// Help is the long help text.
func (*runCmd) Help() string { return runHelp }

// Help is the long help text.
func (*holdCmd) Help() string { return holdHelp }

// printHelp prints kong's help and, below the flags, the notes of the command.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	if err := kong.DefaultHelpPrinter(options, ctx); err != nil {
		return err
	}
	notes := appNotes
	if selected := ctx.Selected(); selected != nil {
		notes = map[string]string{
			"run": runNotes, "hold": holdNotes, "inspect": inspectNotes, "unlock": unlockNotes, "demo": demoNotes,
		}[selected.Name]
	}
	if notes == "" {
		return nil
	}
	_, err := fmt.Fprintln(ctx.Stdout, notes)
	return err
}
