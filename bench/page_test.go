package main

import (
	"bytes"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/check"
)

// A table has a row for each figure and a column for each contender that takes part. A figure is the median of
// its rounds. Below it stands how the first figure compares, round by round.
func TestTable(t *testing.T) {
	var out, log bytes.Buffer
	r := &report{out: &out, log: &log}
	r.add(part{
		trial:      trial{scenario: "s", setting: "1", title: "what is done"},
		contenders: []contender{{name: "a"}, {name: "b"}, {name: "c"}},
		results: []result{
			{rounds: [][]figure{{{"time", "µs", 3}}, {{"time", "µs", 1}}, {{"time", "µs", 2.5}}}},
			{rounds: [][]figure{{{"ratio", "", 100}}}},
			{err: errors.New("broken")},
		},
	})
	const want = "\n`s/1`: what is done\n\n| | a | b | c |\n|---|---:|---:|---:|\n| time, µs | 2.50 | – | failed |\n| ratio | – | 100 | failed |\n"
	if got := out.String(); got != want {
		t.Errorf("table:\n%s\nwant:\n%s", got, want)
	}
	check.That(t, strings.Contains(log.String(), "s/1: c failed: broken"), "the log is %q", &log)
	out.Reset()
	rounds := func(values ...float64) (r result) {
		for _, v := range values {
			r.rounds = append(r.rounds, []figure{{"time", "µs", v}, {"other", "", 7}})
		}
		return r
	}
	r.add(part{
		contenders: []contender{{name: "a"}, {name: "b"}, {name: "c"}, {name: "d"}},
		results:    []result{rounds(1, 8, 3), rounds(2, 4, 3), rounds(2, 0, 1), {err: errors.New("broken")}},
	})
	if got, want := out.String(), "\nOf a, time as a multiple of each other's in the same round, median (least to most): b 1 (0.50 to 2)\n"; !strings.HasSuffix(got, want) {
		t.Errorf("table:\n%s\nwant at its end: %s", got, want)
	}
}

// A run replaces the sections of its own scenarios, and no others.
func TestPageInParts(t *testing.T) {
	alone, one, two := trial{scenario: "uncontended", setting: "1"}, trial{scenario: "frozen", setting: "1"}, trial{scenario: "frozen", setting: "2"}
	all := []trial{alone, one, two}
	dir, log := t.TempDir(), new(bytes.Buffer)
	// write has a run of some trials in so many rounds write its page, and returns the page.
	write := func(rounds int, p50 float64, trials ...trial) string {
		log.Reset()
		r := &report{machine: fmt.Sprintln("# Benchmarks of", rounds, "rounds"), out: new(bytes.Buffer), log: log}
		for _, trial := range trials {
			r.add(part{trial, []contender{{name: "redlock"}}, []result{{rounds: [][]figure{{{"p50", "µs", p50}}}}}})
		}
		check.OK(t, r.writePage(dir, all), "writePage")
		return check.File(t, filepath.Join(dir, "RESULTS.md"))
	}
	for _, c := range []struct {
		name   string
		rounds int
		run    []trial
		old    int // how many of the tables are as they were
	}{
		{"all", 3, all, 0},
		{"the first scenario", 3, []trial{alone}, 2},
		{"the last scenario", 3, []trial{one, two}, 1},
		{"a part of a scenario", 3, []trial{two}, 3},
		{"all, in other rounds", 5, all, 0},
		{"a scenario, in other rounds", 5, []trial{alone}, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			before := write(3, 111, all...)
			page := write(c.rounds, 222, c.run...)
			if old, fresh := strings.Count(page, "| 111 |"), strings.Count(page, "| 222 |"); old != c.old || fresh != 3-c.old {
				t.Errorf("%d tables are old and %d new, want %d of 3 old:\n%s", old, fresh, c.old, page)
			}
			if got, want := strings.Count(page, "\n"), strings.Count(before, "\n"); got != want {
				t.Errorf("the page has %d lines, want %d:\n%s", got, want, page)
			}
			if said := log.String(); (said != "") != (c.rounds != 3 && c.old == 3) {
				t.Errorf("said %q", said)
			}
		})
	}
}

// info is what redis-server 7.0 answers, shortened.
const info = "# Clients\r\nconnected_clients:3\r\n# CPU\r\nused_cpu_sys:0.250000\r\nused_cpu_user:0.500000\r\n" +
	"used_cpu_sys_children:9.000000\r\n# Stats\r\ntotal_net_input_bytes:1000\r\ntotal_net_output_bytes:300\r\n" +
	"total_net_repl_input_bytes:7\r\n# Commandstats\r\n" +
	"cmdstat_evalsha:calls=12,usec=40,usec_per_call=3.33,rejected_calls=0,failed_calls=0\r\n" +
	"cmdstat_eval:calls=1,usec=7,usec_per_call=7.00,rejected_calls=0,failed_calls=0\r\n" +
	"cmdstat_set:calls=5,usec=4,usec_per_call=0.80,rejected_calls=0,failed_calls=0\r\n"

func TestCounters(t *testing.T) {
	before := counters{"total_net_input_bytes": 600, reported: 50, "cmdstat_set": 2} // that answer was not in its own count
	after := counters{}
	for range 2 { // two masters
		after.add(info)
	}
	d := after.since(before)
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"scripts", d.scripts(), 26},
		{"sent, scripts only", d.sent(nil), 26},
		{"sent, with set", d.sent([]string{"set"}), 34},
		{"wire", d.wire(), 2*1300 - 600 - 50},
		{"reported", after[reported], float64(2 * len(info))},
		{"cpu", d.cpu(), 1.5e6},
	} {
		check.That(t, c.got == c.want, "%s = %v, want %v", c.name, c.got, c.want)
	}
}

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
