package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
)

// A hold cannot be extended: if waiting may help, redlock tries again, with a pause and a warning. If
// it cannot help, redlock gives up. Where the wait has an end, it also waits for others whose use of the masters
// conflicts, and says so once; in the end it says what it waited for.
func TestWhole(t *testing.T) {
	const longest = time.Minute // wait, unless it is endless
	refused := errors.New("redlock: lease 0s is too short")
	lost := fmt.Errorf("%w: the validity has ended", redlock.ErrLost)
	silent := fmt.Errorf("%w (extend)", redlock.ErrNoQuorum)
	for _, c := range []struct {
		name      string
		fails     []error       // of Extend, one hold after the other
		conflicts time.Duration // for how long others conflict
		endless   bool          // the wait
		want      error
		code      int
		took      time.Duration
		says      string
	}{
		{name: "at once"},
		{name: "cannot be", fails: []error{refused}, want: refused, code: exitUsage},
		{name: "lost once", fails: []error{lost}, took: tryAgain, says: "trying again error=\"hold lost: the validity has ended\"\n"},
		{name: "lost, silent, cannot be", fails: []error{lost, silent, refused}, want: refused, code: exitUsage, took: 2 * tryAgain, says: "hold lost"},
		{name: "always lost", fails: slices.Repeat([]error{lost}, 1000), want: lost, code: exitTaken, took: longest, says: "hold lost"},
		{name: "others for a while", conflicts: 10 * time.Second, took: 10 * time.Second, says: "waiting for other clients"},
		{name: "others forever", conflicts: time.Hour, want: context.DeadlineExceeded, code: exitConflict, took: longest, says: "waiting for other clients"},
		{name: "others, and no end of the wait", conflicts: time.Hour, endless: true, want: redlock.ErrOverlap, code: exitConflict},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := t.Context(), func() {}
				if !c.endless {
					ctx, cancel = context.WithTimeout(ctx, longest)
				}
				defer cancel()
				var stderr bytes.Buffer
				var holds []*fakeLease
				start := time.Now()
				got, err := whole(ctx, slog.New(newPlainLog(&stderr)), 30*time.Second, func(context.Context) (grip, error) {
					switch took := time.Since(start); {
					case took >= c.conflicts:
					case took < longest-time.Second:
						return nil, &redlock.ConflictError{Reason: redlock.ErrOverlap}
					default: // the masters do not say any more
						<-ctx.Done()
						return nil, ctx.Err()
					}
					h := &fakeLease{}
					if n := len(holds); n < len(c.fails) {
						h.err = c.fails[n]
					}
					holds = append(holds, h)
					return h, nil
				})
				if !errors.Is(err, c.want) || err != nil && codeOf(err) != c.code || (err == nil) != (c.want == nil) {
					t.Errorf("whole = %v, exit code %d, want %v, %d", err, codeOf(err), c.want, c.code)
				}
				check.Equal(t, time.Since(start), c.took, "whole took")
				for _, h := range holds {
					check.That(t, h.unlocked != (h == got), "a hold was unlocked: %t, returned: %t", h.unlocked, h == got)
				}
				check.That(t, strings.Contains(stderr.String(), c.says) && strings.Count(stderr.String(), "\n") == min(len(c.says), 1), "stderr is %q, want one line with %q", &stderr, c.says)
			})
		})
	}
}

// fakeLease is a hold that cannot be extended.
type fakeLease struct {
	grip
	err      error
	unlocked bool
}

func (h *fakeLease) Extend(context.Context, time.Duration) error { return h.err }

func (h *fakeLease) Unlock(context.Context) error {
	h.unlocked = true
	return nil
}

// TestManyClients: what there is to say of 1,000 clients is short, whether they have the same masters under a
// thousand names, or all have others.
func TestManyClients(t *testing.T) {
	for _, same := range []bool{true, false} {
		var all []redlock.ClientInfo
		for i := range 1000 {
			c := redlock.ClientInfo{ID: fmt.Sprint(i), Name: "app", Host: fmt.Sprint("host-", i), Terms: redlock.Terms{Lease: 30 * time.Second, Guard: 30 * time.Second}}
			for k := range 5 {
				m := redlock.Master{Run: fmt.Sprintf("%08x", k), Address: fmt.Sprintf("localhost:%d on host-%d", 6380+k, i)}
				if !same {
					m.Run = fmt.Sprintf("%08x", i*5+k)
				}
				c.Terms.Masters = append(c.Terms.Masters, m)
			}
			all = append(all, c)
		}
		sets := setsInUse(all)
		text, err := json.Marshal(clientsReport(all, sets))
		if err != nil || len(text) > 2<<20 || same && (len(sets) != 1 || clientsCode(sets) != exitOK) || !same && clientsCode(sets) != exitNo {
			t.Errorf("same masters %v: %d sets, code %d, %d bytes, %v", same, len(sets), clientsCode(sets), len(text), err)
		}
		pairs := 0
		for _, s := range sets {
			pairs += len(s.relations)
		}
		check.AtMost(t, pairs, 1000, "pairs of sets that are compared")
	}
}
