package main

import (
	"testing"
	"time"
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
		if got := c.s.percentile(c.p); got != c.want {
			t.Errorf("p%v of %d samples = %d, want %d", c.p, len(c.s), got, c.want)
		}
	}
}

func TestMedian(t *testing.T) {
	values := []float64{9, 1, 5}
	if got := median(values); got != 5 || values[0] != 9 {
		t.Errorf("median = %v of %v, want 5, and the values as they were", got, values)
	}
	if got := median([]float64{4, 1, 2, 9}); got != 3 {
		t.Errorf("median of four = %v, want 3", got)
	}
}
