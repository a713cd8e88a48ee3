package main

import (
	"testing"
	"time"

	"example.com/redlock/internal/check"
)

func TestPercentile(t *testing.T) {
	hundred := make(samples, 0, 100)
	for i := 100; i > 0; i-- { // not in order
		hundred = append(hundred, time.Duration(i))
	}
	for _, c := range []struct {
		s    samples
		p    float64
		want time.Duration
	}{
		{hundred, 50, 50},
		{hundred, 99, 99},
		{hundred, 100, 100},
		{hundred, 0, 1},
		{hundred, 99.5, 100},
		{samples{7}, 50, 7},
		{samples{1, 2}, 50, 1},
		{samples{1, 2}, 51, 2},
		{nil, 50, 0},
	} {
		check.Equal(t, c.s.percentile(c.p), c.want, "p%v of %d samples", c.p, len(c.s))
	}
}

func TestMedian(t *testing.T) {
	values := []float64{9, 1, 5}
	if got := median(values); got != 5 || values[0] != 9 {
		t.Errorf("median = %v of %v, want 5, and the values as they were", got, values)
	}
	check.Equal(t, median([]float64{4, 1, 2, 9}), 3, "median of four")
}
