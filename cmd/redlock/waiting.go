package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"example.com/redlock/internal/quote"
	"example.com/redlock/redlock"
	"example.com/redlock/redlockadmin"
)

const (
	// sayWhyAfter is how long redlock waits before it says what it is waiting for.
	sayWhyAfter = 2 * time.Second

	// lookMost is the longest pause between two looks. The pause doubles for as long as nothing changes, since each look
	// asks every master.
	lookMost = 30 * time.Second
)

// sayWhy says after a while who holds the lock, for how long, and how many callers wait before this one. It says so again
// when the holder or the place in the line has changed. If too few masters answer, or if they restarted lately and grant
// nothing, the client itself logs a warning.
func (f *lockFlags) sayWhy(ctx context.Context, client *redlock.Client, log *slog.Logger) {
	said := make(map[string]reason)
	pause := sayWhyAfter
	ended, cancel := context.WithCancel(ctx)
	cancel()
	for guardWhy := f.guardWhy; ; {
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return
		}
		if guardWhy != "" && errors.Is(client.Ready(ended), redlock.ErrGuarded) {
			log.Warn("masters that restarted grant nothing for so long " + guardWhy)
			guardWhy = ""
		}
		pause = min(2*pause, lookMost)
		for name, why := range f.reasons(ctx, client) {
			if ctx.Err() == nil && said[name].key() != why.key() {
				said[name] = why
				pause = sayWhyAfter
				log.Warn(why.String())
			}
		}
	}
}

// reasons says for each name that somebody else holds why this caller waits.
func (f *lockFlags) reasons(ctx context.Context, client *redlock.Client) map[string]reason {
	all := make(map[string]reason)
	admin := redlockadmin.Of(client)
	me := admin.IDs()[0]
	if f.Permits > 0 {
		name := f.Name[0]
		seen, err := admin.InspectSemaphore(ctx, name)
		if err == nil && len(seen.Slots) > 0 {
			all[name] = whyNoPermit(seen, me)
		}
		return all
	}
	for _, name := range f.Name {
		seen, err := admin.Inspect(ctx, name)
		if err == nil && seen.Held && !ours(seen.Holder, me) {
			all[name] = whyNotLocked(seen, me)
		}
	}
	return all
}

// reason is why a caller waits.
type reason struct {
	what  string // it waits for, and who holds that
	since time.Duration
	ahead int // how many wait before it; negative: not known
}

// key is the part of a reason whose change is worth a message.
func (r reason) key() string { return fmt.Sprint(r.what, r.ahead) }

// String says it.
func (r reason) String() string {
	line := holderFor("still waiting for "+r.what, r.since)
	switch {
	case r.ahead == 0:
		line += "; next in line"
	case r.ahead > 0:
		line += fmt.Sprintf("; %d ahead in line", r.ahead)
	}
	return line
}

func whyNotLocked(seen redlockadmin.Inspection, me string) reason {
	by := holderOf(seen.Holder, seen.Client, len(seen.Readers))
	if seen.Holder == shared && len(seen.Readers) > 0 {
		by += " (" + quote.Few(seen.Readers, func(r redlockadmin.Reader) string { return named(r.Owner, r.Client) }) + ")"
	}
	return reason{what: fmt.Sprintf("%q: held by %s", seen.Name, by), since: seen.HeldFor, ahead: ahead(lockSight(seen, nil).queues, me)}
}

func whyNoPermit(seen redlockadmin.SemaphoreInspection, me string) reason {
	s := permitsSight(seen, nil)
	by := quote.Few(seen.Slots, func(s redlockadmin.Slot) string { return named(s.Owner, s.Client) })
	return reason{what: fmt.Sprintf("a permit of %q: %s, by %s", seen.Name, s.verdict, by), ahead: ahead(s.queues, me)}
}

// ours reports whether owner is client me, or one of its owners.
func ours(owner, me string) bool { return strings.HasPrefix(owner+":", me+":") }

// ahead returns how many wait before client me: the median of what the masters say that have it in their queues, since
// not every master knows every waiter. It is negative if none has it.
func ahead(queues [][]redlockadmin.Waiter, me string) int {
	var places []int
	for _, queue := range queues {
		if i := slices.IndexFunc(queue, func(w redlockadmin.Waiter) bool { return ours(w.Owner, me) }); i >= 0 {
			places = append(places, i)
		}
	}
	if len(places) == 0 {
		return -1
	}
	slices.Sort(places)
	return places[len(places)/2]
}
