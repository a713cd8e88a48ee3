package otelredlock

import (
	"context"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// TestPage: docs/telemetry.md lists the metrics that there are, with their kinds, units and attributes.
func TestPage(t *testing.T) {
	bubble(t, Config{Label: func(string) string { return "all" }}, func(t *testing.T, l *lab) {
		a, b := l.open(redlock.Config{}), l.open(redlock.Config{})
		hold := l.lock(t.Context(), a, "a")
		ctx, cancel := context.WithTimeout(t.Context(), 11*time.Second)
		defer cancel()
		_, err := b.Lock(ctx, "a")
		want(t, err, redlock.ErrTaken)
		l.unlock(hold)
		l.lock(t.Context(), b, "b")
		keeper := l.open(redlock.Config{Keep: time.Second})
		time.Sleep(time.Second) // it subscribes
		for range 2 {
			l.unlock(l.lock(t.Context(), keeper, "c"))
		}
		time.Sleep(2 * time.Second)
		each(l.fleet, 0, 3, (*redlocktest.Master).Kill)
		time.Sleep(time.Minute)

		var data metricdata.ResourceMetrics
		want(t, l.reader.Collect(t.Context(), &data), nil)
		var got []string
		for _, m := range data.ScopeMetrics[0].Metrics {
			got = append(got, describe(m))
		}
		slices.Sort(got)
		text, err := os.ReadFile("../docs/telemetry.md")
		want(t, err, nil)
		var listed []string
		for _, row := range regexp.MustCompile("(?m)^\\| `(redlock[.a-z]+)` \\| ([^|]*), (\\S+) \\| ([^|]*)\\|").FindAllStringSubmatch(string(text), -1) {
			var attributes []string
			for _, name := range regexp.MustCompile("`[^`]+`").FindAllString(row[4], -1) {
				attributes = append(attributes, strings.Trim(name, "`"))
			}
			slices.Sort(attributes)
			listed = append(listed, strings.Join([]string{row[1], row[2], row[3], strings.Join(attributes, " ")}, "; "))
		}
		slices.Sort(listed)
		if !slices.Equal(got, listed) {
			t.Errorf("docs/telemetry.md lists\n%s\nand there are\n%s", strings.Join(listed, "\n"), strings.Join(got, "\n"))
		}
	})
}

// describe is a row of the table.
func describe(m metricdata.Metrics) string {
	kind, names := "", map[string]bool{}
	switch data := m.Data.(type) {
	case metricdata.Sum[int64]:
		kind = "up-down counter"
		if data.IsMonotonic {
			kind = "counter"
		}
		for _, p := range data.DataPoints {
			for _, a := range p.Attributes.ToSlice() {
				names[string(a.Key)] = true
			}
		}
	case metricdata.Histogram[float64]:
		kind = "histogram"
		for _, p := range data.DataPoints {
			for _, a := range p.Attributes.ToSlice() {
				names[string(a.Key)] = true
			}
		}
	}
	return strings.Join([]string{m.Name, kind, m.Unit, strings.Join(slices.Sorted(maps.Keys(names)), " ")}, "; ")
}
