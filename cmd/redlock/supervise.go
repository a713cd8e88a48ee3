package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"time"

	"example.com/redlock/redlock"
)

// held is the part of a hold that the supervisor checks.
type held interface {
	Context() context.Context
	Remaining() time.Duration
}

// tree is a command and every process that it started, as the supervisor sees them: a *child.
type tree interface {
	ends() ending
	forward(sig os.Signal, valid func() bool)
	stopped() bool                 // the command is, by a signal
	report(valid func() bool) bool // tells the shell so, and returns when the job goes on; false: there is no shell
	terminate() error              // says which process could not be told, since it runs as another user
	kill() error
}

// ending reports the end of a process tree.
type ending struct {
	exited chan int      // receives the command's exit code; has room for it
	gone   chan struct{} // closed when no process of the tree is left, after exited has its value
}

func newEnding() ending { return ending{exited: make(chan int, 1), gone: make(chan struct{})} }

func (e ending) ends() ending { return e }

// killLimit limits the wait for processes that were killed: one in an uninterruptible system call dies
// only when the call returns, which may be never.
const killLimit = 2 * time.Second

// supervise passes signals on to c until the command has ended, and ends it when its hold ends.
//
// A command that is stopped does no work, and must not keep the lock forever. If a shell can see that, redlock stops as
// well, and the hold ends with its lease. Otherwise the command is told to end once it has been stopped for as long as the
// lease.
//
// It returns the command's exit code. If the command was told to end because of the hold, lost says why, and supervise
// waits until none of the command's processes is left. Otherwise it ignores what the command left running.
func supervise(c tree, h held, grace, lease time.Duration, signals <-chan os.Signal, log *slog.Logger) (code int, lost error) {
	valid := func() bool { return h.Remaining() > 0 }
	var stopped time.Time // since when the command is
	steps := escalation{grace: grace}
	wake := time.NewTimer(0)
	defer wake.Stop()
	exited, gone, ended := c.ends().exited, c.ends().gone, h.Context().Done()
	var giveUp <-chan time.Time
	var alive error // why some processes are, if KILL could not be sent
	why := func() error {
		if steps.did == leave {
			return nil
		}
		return cmp.Or(lost, context.Cause(h.Context()), redlock.ErrLost)
	}
	for {
		select {
		case code = <-exited:
			if steps.did == leave {
				return code, nil
			}
			exited = nil
		case <-gone:
			if exited != nil {
				code = <-exited // sent before gone was closed
			}
			return code, why()
		case sig := <-signals:
			c.forward(sig, valid)
		case <-ended:
			ended = nil
		case <-wake.C:
		case <-giveUp:
			if alive != nil {
				log = log.With("error", alive)
			}
			log.Error("some of the command's processes do not die")
			return exitSignal + 9, why()
		}
		now := time.Now()
		switch {
		case !c.stopped():
			stopped = time.Time{}
		case stopped.IsZero():
			stopped = now
		case steps.did == leave && now.Sub(stopped) >= stillStopped && c.report(valid):
			stopped = time.Time{}
		}
		left, idle := h.Remaining(), !stopped.IsZero() && now.Sub(stopped) >= lease
		do, again := steps.step(now, left, idle || h.Context().Err() != nil)
		switch do {
		case leave:
			if !stopped.IsZero() {
				again = min(again, stillStopped)
			}
		case term:
			if idle {
				lost = fmt.Errorf("it was stopped for %v", lease)
			}
			log.Warn("the hold is ending: TERM to the command", "left", max(0, left).Round(time.Millisecond))
			if err := c.terminate(); err != nil {
				log.Error("some of the command's processes cannot be told to end", "error", err)
			}
		case kill:
			if giveUp == nil {
				log.Warn("the command is still there: KILL to the command")
				giveUp = time.After(killLimit)
			}
			alive = c.kill()
		}
		wake.Reset(again)
	}
}

// stillStopped is how long a command is stopped before redlock tells the shell: when a whole job is continued, redlock may
// learn of that after the stop.
const stillStopped = 100 * time.Millisecond

// action is what has to be done to the command.
type action int

const (
	leave action = iota // let it run
	term                // ask it to end
	kill                // end it
)

// lookAgain is the longest time between two checks of the hold. Timers stand still while the machine
// sleeps, but the hold's own clock does not, so the first check after waking must come soon.
const lookAgain = time.Second

// killAgain is how often a process tree that is still there is killed again: a process that forks
// while the tree is being killed may have a child that was missed.
const killAgain = 20 * time.Millisecond

// escalation decides when a command whose hold is ending gets TERM, and when it gets KILL.
//
// Renewals come every third of the lease, so a healthy hold always has about two thirds of it left.
// When no more than grace is left, renewals have been failing for a while. The command gets TERM then,
// although the hold is still valid, so that it has the grace to end before validity ends and somebody
// else may start. KILL follows when validity ends.
//
// A hold can also end without that warning, if somebody freed it by force or the machine slept. Then
// the lock no longer covers anything that the command does. The command gets TERM at once, and the
// grace to leave its work in order.
//
// TERM is final: a renewal that succeeds after all does not take it back.
type escalation struct {
	grace  time.Duration
	did    action    // last
	warned bool      // TERM came while the hold was still valid
	killAt time.Time // once TERM has come
}

// step returns what to do now, and how soon to call step again at the latest. remaining is the hold's
// validity, and ended says whether its context has ended.
func (e *escalation) step(now time.Time, remaining time.Duration, ended bool) (action, time.Duration) {
	over := ended || remaining <= 0
	switch e.did {
	case leave:
		if !over && remaining > e.grace {
			return leave, min(remaining-e.grace, lookAgain)
		}
		left := e.grace
		if !over {
			left = remaining
		}
		e.did, e.warned, e.killAt = term, !over, now.Add(left)
		return term, min(left, lookAgain)
	case term:
		if (!over || !e.warned) && now.Before(e.killAt) {
			return leave, min(e.killAt.Sub(now), lookAgain)
		}
		e.did = kill
	}
	return kill, killAgain
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

// signalled is the cause of a context that untilSignal ended.
type signalled struct{ os.Signal }

func (s signalled) Error() string { return "ended by signal (" + s.String() + ")" }

// untilSignal returns a context that ends at the first of signals that ends the program. release ends it, leaves further
// signals to others, and returns the signal that was taken, or nil.
//
// Goroutines: one. It ends with the context, and release waits for it.
func untilSignal(signals <-chan os.Signal) (ctx context.Context, release func() os.Signal) {
	ctx, cancel := context.WithCancelCause(context.Background())
	var waits sync.WaitGroup
	var taken os.Signal // perhaps while release ends the context, whose cause does not say so then
	waits.Go(func() {
		for {
			select {
			case sig := <-signals:
				if endsWait(sig) {
					taken = sig
					cancel(signalled{sig})
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, func() os.Signal { cancel(nil); waits.Wait(); return taken }
}

// interruptible returns a context that ends at the first signal that ends the program. After release, redlock catches
// signals no longer.
func interruptible() (ctx context.Context, release func()) {
	signals := listen(false)
	ctx, stop := untilSignal(signals)
	return ctx, func() { signal.Stop(signals); stop() }
}

// stay waits until done, until a signal that ends the program comes, or until the hold has ended. Its error is the exit
// code of that signal.
func stay[T any](h held, signals <-chan os.Signal, done <-chan T, log *slog.Logger) error {
	ended, release := untilSignal(signals)
	defer release()
	select {
	case <-done:
	case <-ended.Done():
		log.Info(context.Cause(ended).Error())
	case <-h.Context().Done():
	}
	return bySignal(ended)
}

// endsAlready returns the first of the signals that came so far that ends the program, or nil.
func endsAlready(signals <-chan os.Signal) os.Signal {
	for {
		select {
		case sig := <-signals:
			if endsWait(sig) {
				return sig
			}
		default:
			return nil
		}
	}
}

// bySignal ends the program as it should where a signal ended ctx; otherwise it returns nil.
func bySignal(ctx context.Context) error {
	if by, ok := errors.AsType[signalled](context.Cause(ctx)); ok {
		return quiet(signalCode(by.Signal))
	}
	return nil
}
