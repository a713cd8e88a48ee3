package main

import (
	"context"
	"log/slog"
	"os"
	"time"
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
	terminate()
	kill()
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
// It returns the command's exit code, and whether the command was told to end because of the hold. If
// it was, supervise also waits until none of the command's processes is left. Otherwise it ignores
// what the command left running.
func supervise(c tree, h held, grace time.Duration, signals <-chan os.Signal, log *slog.Logger) (code int, lost bool) {
	steps := escalation{grace: grace}
	wake := time.NewTimer(0)
	defer wake.Stop()
	exited, gone, ended := c.ends().exited, c.ends().gone, h.Context().Done()
	var giveUp <-chan time.Time
	for {
		select {
		case code = <-exited:
			if !steps.termSent {
				return code, false
			}
			exited = nil
		case <-gone:
			if exited != nil {
				code = <-exited // sent before gone was closed
			}
			return code, steps.termSent
		case sig := <-signals:
			c.forward(sig, func() bool { return h.Remaining() > 0 })
		case <-ended:
			ended = nil
		case <-wake.C:
		case <-giveUp:
			log.Error("some of the command's processes do not die")
			return exitSignal + 9, true
		}
		left := h.Remaining()
		do, again := steps.step(time.Now(), left, h.Context().Err() != nil)
		if do == term {
			log.Warn("the hold is ending: TERM to the command", "left", max(0, left).Round(time.Millisecond))
			c.terminate()
		}
		if do == kill {
			if giveUp == nil {
				log.Warn("the command is still there: KILL to the command")
				giveUp = time.After(killLimit)
			}
			c.kill()
		}
		wake.Reset(again)
	}
}
