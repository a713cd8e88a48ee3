package trial

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"
)

// seeds is of how many plans each property is tested.
const seeds = 100

func planned(seed uint64, lasts time.Duration, masters int, only ...string) (Config, Plan) {
	cfg := Config{Seed: seed, Lasts: lasts, Masters: masters, Clients: 5, Lease: 3 * time.Second, Only: only}
	return cfg, NewPlan(cfg)
}

// eachPlan tests a property of many plans, long and short, for five masters and for three.
func eachPlan(t *testing.T, check func(t *testing.T, cfg Config, plan Plan)) {
	t.Helper()
	for _, masters := range []int{3, 5} {
		for _, lasts := range []time.Duration{10 * time.Minute, time.Minute} {
			t.Run(fmt.Sprintf("masters=%d lasts=%v", masters, lasts), func(t *testing.T) {
				for seed := range uint64(seeds) {
					cfg, plan := planned(seed, lasts, masters)
					if check(t, cfg, plan); t.Failed() {
						t.Fatalf("with seed %d", seed)
					}
				}
			})
		}
	}
}

// count returns how many faults of each kind a plan has.
func count(plan Plan) map[string]int {
	n := map[string]int{}
	for _, a := range plan.Acts {
		if a.Kind != calm {
			n[a.Kind]++
		}
	}
	return n
}

func TestSameSeedSamePlan(t *testing.T) {
	_, a := planned(7, 10*time.Minute, 5)
	_, b := planned(7, 10*time.Minute, 5)
	_, c := planned(8, 10*time.Minute, 5)
	if !reflect.DeepEqual(a, b) {
		t.Error("two plans of seed 7 differ")
	}
	if reflect.DeepEqual(a, c) {
		t.Error("the plans of seeds 7 and 8 are the same")
	}
}

// Ten minutes have more than two hundred faults, each kind several times. A minute has most kinds.
func TestManyFaultsOfManyKinds(t *testing.T) {
	eachPlan(t, func(t *testing.T, cfg Config, plan Plan) {
		n := count(plan)
		total := 0
		for _, k := range n {
			total += k
		}
		switch {
		case cfg.Lasts == time.Minute && (total < 20 || len(n) < 15):
			t.Errorf("%d faults of %d kinds in a minute, want 20 of 15", total, len(n))
		case cfg.Lasts > time.Minute && (total < 240 || len(n) < len(kinds)):
			t.Errorf("%d faults of %d kinds, want 240 of %d", total, len(n), len(kinds))
		case cfg.Lasts > time.Minute:
			for kind, n := range n {
				if n < 2 {
					t.Errorf("%s happens %d times in ten minutes", kind, n)
				}
			}
		}
	})
}

// Each fault ends before the plan does, and before calm.
func TestEveryFaultEnds(t *testing.T) {
	eachPlan(t, func(t *testing.T, cfg Config, plan Plan) {
		var end time.Duration
		for _, a := range plan.Acts {
			if a.Kind == calm && a.At < end {
				t.Errorf("calm at %v, and faults until %v", a.At, end)
			}
			end = max(end, a.At+a.Lasts)
			if end > cfg.Lasts {
				t.Errorf("%v at %v is not over at %v", a, a.At, cfg.Lasts)
			}
			if a.At < warmUp {
				t.Errorf("%v begins at %v", a, a.At)
			}
		}
	})
}

// No part of anybody has two faults at a time, so that one is not mended by the end of the other.
func TestOneFaultAtATimeOnAPart(t *testing.T) {
	eachPlan(t, func(t *testing.T, cfg Config, plan Plan) {
		free := map[string]time.Duration{}
		for _, a := range plan.Acts {
			if a.Kind == calm {
				continue
			}
			k, names := kindOf(a.Kind), a.On
			if len(names) == 0 {
				t.Errorf("%v is on nobody", a)
			}
			for _, name := range names {
				if name[0] == 'c' && k.part != client {
					continue // cut off, beside what else may happen to the client
				}
				if free[name+string(k.part)] > a.At {
					t.Errorf("%v at %v, and %s has another fault until %v", a, a.At, name, free[name+string(k.part)])
				}
				free[name+string(k.part)] = a.At + a.Lasts
			}
		}
	})
}

// Masters that forget without a restart are never a majority within a lease and a second.
func TestNoMajorityForgets(t *testing.T) {
	eachPlan(t, func(t *testing.T, cfg Config, plan Plan) {
		for i, a := range plan.Acts {
			if a.Kind == calm || !kindOf(a.Kind).forgets {
				continue
			}
			forgot := map[string]bool{}
			for _, b := range plan.Acts[:i+1] {
				if b.Kind != calm && kindOf(b.Kind).forgets && b.At+b.Lasts+cfg.Lease+time.Second > a.At {
					for _, name := range b.On {
						forgot[name] = true
					}
				}
			}
			if len(forgot) > cfg.Masters/2 {
				t.Errorf("at %v, %v, %v of %d have forgotten", a.At, a, slices.Sorted(maps.Keys(forgot)), cfg.Masters)
			}
		}
	})
}
