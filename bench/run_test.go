package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Contenders take turns, with another one first in each round. Only in a trial that mostly waits are
// they measured at the same time. One that fails drops out.
func TestMeasureAll(t *testing.T) {
	for _, c := range []struct {
		waiting bool
		begins  string // of each measurement, in seconds
	}{
		{false, "[a0 b1 c2 c3 a4 c5 a6]"},
		{true, "[a0 a1 a2 b0 c0 c1 c2]"},
	} {
		t.Run(fmt.Sprintf("waiting=%t", c.waiting), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start := time.Now()
				var mu sync.Mutex
				var begins []string
				r := &report{out: io.Discard, log: io.Discard}
				err := measureAll(t.Context(), &env{fleet: new(fleet)}, []trial{{
					waiting: c.waiting,
					measure: func(_ context.Context, _ *env, c contender) ([]figure, error) {
						mu.Lock()
						begins = append(begins, fmt.Sprintf("%s%.0f", c.name, time.Since(start).Seconds()))
						mu.Unlock()
						time.Sleep(time.Second)
						if c.name == "b" {
							return nil, errors.New("broken")
						}
						return []figure{{"time", "s", 1}}, nil
					},
				}}, []contender{{name: "a"}, {name: "b"}, {name: "c"}}, 3, r)
				if err != nil {
					t.Fatalf("measureAll = %v", err)
				}
				if c.waiting {
					slices.Sort(begins)
				}
				if got := fmt.Sprint(begins); got != c.begins {
					t.Errorf("measured %v, want %v", got, c.begins)
				}
				results := r.parts[0].results
				if len(results[0].rounds) != 3 || results[1].err == nil || len(results[2].rounds) != 3 {
					t.Errorf("results = %v, want three rounds, an error, three rounds", results)
				}
			})
		})
	}
}
