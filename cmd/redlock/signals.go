package main

import (
	"context"
	"errors"
	"os"
	"os/signal"
	"sync"
)

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

// signalled is why a context of untilSignal ended.
type signalled struct{ os.Signal }

func (s signalled) Error() string { return "ended by signal (" + s.String() + ")" }

// untilSignal returns a context that ends at the first of signals that ends the program. release ends it, and
// leaves further signals to others.
//
// Goroutines: one. It ends with the context, and release waits for it.
func untilSignal(signals <-chan os.Signal) (ctx context.Context, release func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	var waits sync.WaitGroup
	waits.Go(func() {
		for {
			select {
			case sig := <-signals:
				if endsWait(sig) {
					cancel(signalled{sig})
					return
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return ctx, func() { cancel(nil); waits.Wait() }
}

// bySignal ends the program as it should where a signal ended ctx; otherwise it returns nil.
func bySignal(ctx context.Context) error {
	if by, ok := errors.AsType[signalled](context.Cause(ctx)); ok {
		return quiet(signalCode(by.Signal))
	}
	return nil
}
