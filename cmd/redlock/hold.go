package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"example.com/redlock/internal/quote"
	"example.com/redlock/redlock"
)

type holdCmd struct {
	lockFlags
	JSON     bool     `name:"json" help:"Print JSON instead, one object on one line."`
	Argument []string `arg:"" optional:"" name:"name" help:"What to lock; several names are locked together."`
	fleetFlags
}

// Run locks, prints the tokens, and unlocks when stdin is closed or a signal comes.
func (h *holdCmd) Run(std streams, from origins) error {
	if len(h.Argument) > 0 {
		if h.Name != nil && from.onLine("name") {
			return fail(exitUsage, "names are given twice: %s, and %s by --name", strings.Join(h.Argument, ", "), h.quoted())
		}
		h.Name, from["name"] = h.Argument, "<name>" // wins over the environment
	}
	if h.unnamed(from) {
		return fail(exitUsage, "no lock is named; write: redlock hold NAME")
	}
	if err := h.check(h.Prefix, from); err != nil {
		return err
	}
	ignoreBackgroundRead()
	var ended error
	unlocked, err := h.under(&h.fleetFlags, false, from, std.err, func(hold grip, signals <-chan os.Signal, log *slog.Logger) {
		if ended = h.print(std.out, holdsOf(hold)); ended == nil {
			ended = untilTold(hold, std.in, signals, log)
		}
	})
	if errors.Is(unlocked, redlock.ErrLost) {
		return fail(exitLost, "the hold of %s was lost: %w", h.quoted(), unlocked)
	}
	if unlocked != nil {
		fmt.Fprintf(std.err, "redlock: warning: %s\n", plain(unlocked))
	}
	return cmp.Or(err, ended)
}

// untilTold waits until the hold may end: stdin is closed, a signal comes, or it has ended already.
//
// Goroutines: one. It reads stdin, and ends with it or with the process.
func untilTold(hold held, stdin *os.File, signals <-chan os.Signal, log *slog.Logger) error {
	var closed chan struct{}
	if !isNull(stdin) {
		closed = make(chan struct{})
		go func() {
			if _, err := io.Copy(io.Discard, stdin); err == nil {
				log.Info("stdin is closed")
				close(closed)
			}
			// A terminal may be read only in the foreground. A signal ends the hold then.
		}()
	}
	return stay(hold, signals, closed, log) // where the hold has ended, Unlock says why
}

// isNull reports whether file is the null device, which background jobs of a script, cron and services have for stdin. It
// is always at its end, so that end means nothing.
//
// Before main, the Go runtime opens it in place of a stdin that is closed, for reading and writing, as Python's
// subprocess.DEVNULL does. So the two cannot be told apart.
func isNull(file *os.File) bool {
	null, err := os.Stat(os.DevNull)
	if err != nil {
		return false
	}
	is, err := file.Stat()
	return err == nil && os.SameFile(null, is)
}

// heldReport is the JSON form of what is held. Fields are never removed; new ones may be added.
type heldReport struct {
	Held []heldLock `json:"held"`
}

type heldLock struct {
	nameJSON
	Token int64  `json:"token"`
	Owner string `json:"owner"`
	Slot  *int   `json:"slot,omitempty"` // of a permit
}

// print says what is held, in one write: a reader of the first line can read them all.
func (h *holdCmd) print(out io.Writer, holds []*redlock.Hold) error {
	var all heldReport
	var text bytes.Buffer
	for _, hold := range holds {
		one := heldLock{nameJSON: nameAsJSON(hold.Name()), Token: hold.Token(), Owner: hold.Owner()}
		switch slot := hold.Slot(); {
		case h.Permits > 0:
			one.Slot = &slot
			fmt.Fprintf(&text, "%d %d\n", hold.Token(), slot)
		case len(holds) == 1:
			fmt.Fprintf(&text, "%d\n", hold.Token())
		default:
			fmt.Fprintf(&text, "%d %s\n", hold.Token(), quote.Text(hold.Name()))
		}
		all.Held = append(all.Held, one)
	}
	if h.JSON {
		text.Reset()
		_ = json.NewEncoder(&text).Encode(all) // into memory
	}
	if _, err := out.Write(text.Bytes()); err != nil {
		return fail(exitSoftware, "not told, so not kept: %w", err)
	}
	return nil
}
