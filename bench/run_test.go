package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// Contenders take turns, with another one first in each round. One that fails drops out.
func TestMeasureAll(t *testing.T) {
	var order string
	r := &report{out: new(bytes.Buffer), log: new(bytes.Buffer)}
	err := measureAll(t.Context(), &env{fleet: new(fleet)}, []trial{{
		among: []string{"a", "b", "c"},
		measure: func(_ context.Context, e *env) ([]figure, error) {
			order += e.contender.name
			if e.contender.name == "b" {
				return nil, errors.New("broken")
			}
			return []figure{{"time", "s", 1}}, nil
		},
	}}, []contender{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}}, 3, r)
	if err != nil || order != "abccaca" {
		t.Errorf("measureAll = %v, and measured %s, want abccaca", err, order)
	}
	results := r.parts[0].results
	if len(results) != 3 || len(results[0].rounds) != 3 || results[1].err == nil || len(results[2].rounds) != 3 {
		t.Errorf("results = %v, want three rounds, an error, three rounds", results)
	}
}

func TestRunEnough(t *testing.T) {
	for _, c := range []struct {
		cycle   time.Duration
		n, want int
	}{
		{10 * time.Millisecond, 20, 26},    // enough in time
		{10 * time.Millisecond, 100, 104},  // goes on until there are enough
		{10 * time.Millisecond, 1000, 208}, // gives up
		{10 * time.Second, 100, 1},         // one cycle is longer than the limit
	} {
		t.Run(fmt.Sprintf("%d of %v", c.n, c.cycle), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s timings
				err := s.runEnough(t.Context(), 250*time.Millisecond, c.n, inTurn(exclusive{make(chan struct{}, 1), c.cycle, 0}, names()))
				if err != nil || len(s.acquires) != c.want {
					t.Errorf("runEnough = %v after %d cycles, want %d", err, len(s.acquires), c.want)
				}
			})
		})
	}
}

// renewals is a hold that counts them.
type renewals int

func (*renewals) Unlock(context.Context) error { return nil }

func (n *renewals) Extend(context.Context) error {
	*n++
	return nil
}

func TestKeepRenewsEachOnceInAPeriod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		holds := make([]hold, 1000)
		for i := range holds {
			holds[i] = new(renewals)
		}
		ctx, cancel := context.WithCancel(t.Context())
		done := keep(ctx, holds, 3*time.Second)
		time.Sleep(6*time.Second - time.Nanosecond)
		cancel()
		<-done
		for i, h := range holds {
			if n := *h.(*renewals); n != 2 {
				t.Errorf("hold %d was renewed %d times in two periods, want twice", i, n)
			}
		}
	})
}
