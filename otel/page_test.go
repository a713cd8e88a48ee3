package otelredlock

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
	"example.com/redlock/redlocktest"
)

// TestPage: docs/monitoring.md lists the metrics that there are, with their kinds, units and attributes.
func TestPage(t *testing.T) {
	bubble(t, Config{Label: func(string) string { return "all" }}, func(t *testing.T, l *lab) {
		a, b := l.open(redlock.Config{}), l.open(redlock.Config{})
		hold := l.lock(t.Context(), a, "a")
		ctx, cancel := context.WithTimeout(t.Context(), 11*time.Second)
		defer cancel()
		check.Err(t, "Lock", second(b.Lock(ctx, "a")), redlock.ErrTaken)
		l.unlock(hold)
		l.lock(t.Context(), b, "b")
		keeper := l.open(redlock.Config{Keep: time.Second})
		time.Sleep(time.Second) // it subscribes
		for range 2 {
			l.unlock(l.lock(t.Context(), keeper, "c"))
		}
		each(l.fleet, 0, 3, func(m *redlocktest.Master) { m.Refuse("OOM command not allowed when used memory > 'maxmemory'.") })
		_, _ = keeper.TryLock(t.Context(), "d")
		each(l.fleet, 0, 3, func(m *redlocktest.Master) { m.Refuse("") })
		time.Sleep(2 * time.Second)
		each(l.fleet, 0, 3, (*redlocktest.Master).Kill)
		time.Sleep(time.Minute)

		var got []string
		for _, m := range l.collect() {
			got = append(got, describe(m))
		}
		slices.Sort(got)
		var listed []string
		for _, row := range regexp.MustCompile("(?m)^\\| `(redlock[.a-z]+)` \\| ([^|]*), (\\S+) \\| ([^|]*)\\|").FindAllStringSubmatch(check.File(t, "../docs/monitoring.md"), -1) {
			var attributes []string
			for _, name := range regexp.MustCompile("`[^`]+`").FindAllString(row[4], -1) {
				attributes = append(attributes, strings.Trim(name, "`"))
			}
			slices.Sort(attributes)
			listed = append(listed, strings.Join([]string{row[1], row[2], row[3], strings.Join(attributes, " ")}, "; "))
		}
		slices.Sort(listed)
		check.That(t, slices.Equal(got, listed), "docs/monitoring.md lists\n%s\nand there are\n%s", strings.Join(listed, "\n"), strings.Join(got, "\n"))
	})
}

// describe is a row of the table.
func describe(m metricdata.Metrics) string {
	kind, points := kindOf(m)
	var names []string
	for attributes := range points {
		for _, a := range attributes.ToSlice() {
			names = append(names, string(a.Key))
		}
	}
	slices.Sort(names)
	return strings.Join([]string{m.Name, kind, m.Unit, strings.Join(slices.Compact(names), " ")}, "; ")
}
