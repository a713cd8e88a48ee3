package main

import (
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"
)

// value returns a figure's value.
func value(t *testing.T, figures []figure, name string) float64 {
	t.Helper()
	i := slices.IndexFunc(figures, func(f figure) bool { return f.name == name })
	if i < 0 {
		t.Fatalf("no figure %q in %v", name, figures)
	}
	return figures[i].value
}

func TestBeside(t *testing.T) {
	healthy, ill := new(timings), new(timings)
	for i := 1; i <= 100; i++ {
		healthy.acquires = append(healthy.acquires, time.Duration(i)*time.Microsecond)
		ill.acquires = append(ill.acquires, time.Duration(2*i)*time.Microsecond)
		ill.releases = append(ill.releases, time.Duration(3*i)*time.Microsecond)
	}
	ill.acquires[98] = 297 * time.Microsecond // three times the healthy one
	ill.acquires[99] = time.Second
	figures := ill.beside(healthy)
	for name, want := range map[string]float64{
		"acquire p50": 100, "acquire p99": 297, "release p50": 150, "release p99": 297,
		"acquire p50 / healthy": 2, "acquire p99 / healthy": 3, "cycles": 100,
	} {
		t.Run(name, func(t *testing.T) {
			if got := value(t, figures, name); got != want {
				t.Errorf("got %v, want %v", got, want)
			}
		})
	}
}

func TestRunEnough(t *testing.T) {
	for _, c := range []struct {
		name  string
		cycle time.Duration
		n     int
		want  int
	}{
		{"enough in time", 10 * time.Millisecond, 20, 26},
		{"goes on until there are enough", 10 * time.Millisecond, 100, 104},
		{"gives up", 10 * time.Millisecond, 1000, 208},
		{"one cycle is longer than the limit", 10 * time.Second, 100, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var s timings
				f := &fake{acquire: c.cycle / 2, release: c.cycle / 2}
				if err := s.runEnough(t.Context(), f, names(), 250*time.Millisecond, c.n); err != nil {
					t.Fatalf("runEnough = %v", err)
				}
				if got := len(s.acquires); got != c.want {
					t.Errorf("cycles = %d, want %d", got, c.want)
				}
				slices.Sort(f.locked)
				if fresh := len(slices.Compact(f.locked)); fresh != c.want {
					t.Errorf("names = %d, want a fresh one for each of %d cycles", fresh, c.want)
				}
			})
		})
	}
}

// The fault comes and goes; only what is measured while it lasts counts as ill.
func TestBesideHealthy(t *testing.T) {
	for _, turns := range []int{1, 4} {
		t.Run(fmt.Sprintf("turns=%d", turns), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cl := &fake{acquire: time.Millisecond}
				var begun, ended int
				figures, err := besideHealthy(t.Context(), &env{duration: time.Second}, cl, fault{
					begin: func() error { begun++; cl.acquire = 3 * time.Millisecond; return nil },
					end:   func() error { ended++; cl.acquire = time.Millisecond; return nil },
					turns: turns,
				})
				if err != nil {
					t.Fatalf("besideHealthy = %v", err)
				}
				if begun != turns || ended != turns {
					t.Errorf("begun %d times, ended %d times, want %d", begun, ended, turns)
				}
				if got := value(t, figures, "acquire p50 / healthy"); got != 3 {
					t.Errorf("p50 / healthy = %v, want 3", got)
				}
				if got := value(t, figures, "cycles"); got < enough {
					t.Errorf("cycles = %v, want at least %d", got, enough)
				}
				locked := len(cl.locked)
				slices.Sort(cl.locked)
				if fresh := len(slices.Compact(cl.locked)); fresh != locked {
					t.Errorf("%d of %d names were fresh, want all", fresh, locked)
				}
			})
		})
	}
}
