package main

import (
	"fmt"
	"math"
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
		t.Run(fmt.Sprintf("p%v of %d", c.p, len(c.s)), func(t *testing.T) {
			if got := c.s.percentile(c.p); got != c.want {
				t.Errorf("percentile(%v) = %d, want %d", c.p, got, c.want)
			}
		})
	}
}

func TestMedian(t *testing.T) {
	for _, c := range []struct {
		values []float64
		want   float64
	}{
		{[]float64{3}, 3},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 2, 9}, 3},
	} {
		t.Run(fmt.Sprint(c.values), func(t *testing.T) {
			before := fmt.Sprint(c.values)
			if got := median(c.values); got != c.want {
				t.Errorf("median(%v) = %v, want %v", c.values, got, c.want)
			}
			if after := fmt.Sprint(c.values); after != before {
				t.Errorf("median changed its argument from %s to %s", before, after)
			}
		})
	}
	if got := median(nil); !math.IsNaN(got) {
		t.Errorf("median(nil) = %v, want NaN", got)
	}
}
