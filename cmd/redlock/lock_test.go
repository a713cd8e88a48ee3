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
// it cannot help, redlock gives up.
func TestWhole(t *testing.T) {
	refused := errors.New("redlock: lease 0s is too short")
	lost := fmt.Errorf("%w: the validity has ended", redlock.ErrLost)
	silent := fmt.Errorf("%w (extend)", redlock.ErrNoQuorum)
	for _, c := range []struct {
		name  string
		fails []error // of Extend, one hold after the other
		want  error
		took  time.Duration
		says  string
	}{
		{name: "at once"},
		{name: "cannot be", fails: []error{refused}, want: refused},
		{name: "lost once", fails: []error{lost}, took: tryAgain, says: "trying again error=\"hold lost: the validity has ended\"\n"},
		{name: "lost, silent, cannot be", fails: []error{lost, silent, refused}, want: refused, took: 2 * tryAgain, says: "hold lost"},
		{name: "always lost", fails: slices.Repeat([]error{lost}, 1000), want: lost, took: time.Minute, says: "hold lost"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				var stderr bytes.Buffer
				var holds []*fakeLease
				start := time.Now()
				got, err := whole(ctx, slog.New(newPlainLog(&stderr)), 30*time.Second, func(context.Context) (grip, error) {
					h := &fakeLease{}
					if n := len(holds); n < len(c.fails) {
						h.err = c.fails[n]
					}
					holds = append(holds, h)
					return h, nil
				})
				if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
					t.Errorf("whole = %v, want %v", err, c.want)
				}
				if c.took == time.Minute && codeOf(err) != exitTaken {
					t.Errorf("whole = %v, exit code %d, want %d", err, codeOf(err), exitTaken)
				}
				check.Equal(t, time.Since(start), c.took, "whole took")
				for _, h := range holds {
					if h.unlocked == (h == got) {
						t.Errorf("a hold was unlocked: %t, returned: %t", h.unlocked, h == got)
					}
				}
				if !strings.Contains(stderr.String(), c.says) || strings.Count(stderr.String(), "\n") != min(len(c.says), 1) {
					t.Errorf("stderr is %q, want one line with %q", &stderr, c.says)
				}
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

// TestWholeWaitsForOthers: while other clients use the masters in a way that conflicts, redlock waits for as long
// as it is told to, and says so once; in the end it says what it waited for. A wait without an end is over at once.
func TestWholeWaitsForOthers(t *testing.T) {
	for _, lasts := range []time.Duration{10 * time.Second, time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			var stderr bytes.Buffer
			start := time.Now()
			_, err := whole(ctx, slog.New(newPlainLog(&stderr)), 30*time.Second, func(context.Context) (grip, error) {
				switch took := time.Since(start); {
				case took >= lasts:
				case took < 59*time.Second:
					return nil, &redlock.ConflictError{Reason: redlock.ErrOverlap}
				default: // the masters do not say any more
					<-ctx.Done()
					return nil, ctx.Err()
				}
				return &fakeLease{}, nil
			})
			took := time.Since(start)
			if waits := lasts < time.Minute; waits && (err != nil || took != lasts) || !waits && (codeOf(err) != exitConflict || !errors.Is(err, context.DeadlineExceeded) || took != time.Minute) {
				t.Errorf("whole = %v after %v, and the conflict lasts %v", err, took, lasts)
			}
			check.Equal(t, strings.Count(stderr.String(), "waiting for other clients"), 1, "how often it says that it waits")
			start = time.Now()
			_, err = whole(t.Context(), slog.New(newPlainLog(&stderr)), 30*time.Second, func(context.Context) (grip, error) {
				return nil, &redlock.ConflictError{Reason: redlock.ErrOverlap}
			})
			if codeOf(err) != exitConflict || time.Since(start) != 0 {
				t.Errorf("without a deadline, whole = %v after %v, want the conflict at once", err, time.Since(start))
			}
			if says := new(lockFlags).notAcquired(err, nil); !strings.Contains(says.Error(), "--wait does that") {
				t.Errorf("without --wait: %v, want it to name the flag", says)
			}
		})
	}
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
