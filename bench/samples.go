package main

import (
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

// median returns the middle one of the values, of which there must be any, or the mean of the two middle ones.
func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
