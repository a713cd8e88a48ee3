package main

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// samples are measured times.
type samples []time.Duration

// percentile returns the smallest sample that at least p percent of the samples do not exceed (the
// nearest rank), or zero when there are none. It sorts s.
func (s samples) percentile(p float64) time.Duration {
	if len(s) == 0 {
		return 0
	}
	slices.Sort(s)
	rank := int(math.Ceil(p / 100 * float64(len(s))))
	return s[min(max(rank, 1), len(s))-1]
}

// figures returns percentiles of the samples, the 100th as the maximum.
func (s samples) figures(name string, unit time.Duration, percentiles ...float64) (figures []figure) {
	for _, p := range percentiles {
		rank := fmt.Sprintf("p%g", p)
		if p == 100 {
			rank = "max"
		}
		figures = append(figures, figure{name + " " + rank, units[unit], in(unit, s.percentile(p))})
	}
	return figures
}

// units are what figures of times are given in.
var units = map[time.Duration]string{time.Microsecond: "µs", time.Millisecond: "ms"}

func in(unit, d time.Duration) float64 { return float64(d) / float64(unit) }

func micros(d time.Duration) float64 { return in(time.Microsecond, d) }

// every returns each nth sample, from the one with that index on.
func (s samples) every(n, from int) (some samples) {
	for i := from; i < len(s); i += n {
		some = append(some, s[i])
	}
	return some
}

// median returns the middle one of the values, of which there must be any, or the mean of the two middle ones.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}
