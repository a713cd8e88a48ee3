package main

import (
	"bytes"
	"errors"
	"io"
	"testing"
)

func TestNumber(t *testing.T) {
	for _, c := range []struct {
		v    float64
		want string
	}{
		{0, "0"}, {0.049, "0.05"}, {1.5, "1.50"}, {10, "10"}, {14.26, "14.3"}, {1234.5, "1234"}, {501049, "501049"},
	} {
		t.Run(c.want, func(t *testing.T) {
			if got := number(c.v); got != c.want {
				t.Errorf("number(%v) = %q, want %q", c.v, got, c.want)
			}
		})
	}
}

func sample() (trial, []contender, []result) {
	return trial{scenario: "s", setting: "1", title: "what is done"},
		[]contender{{name: "a"}, {name: "b"}, {name: "c"}},
		[]result{
			{rounds: [][]figure{{{"time", "µs", 3}}, {{"time", "µs", 1}}, {{"time", "µs", 2.5}}}},
			{},
			{err: errors.New("broken")},
		}
}

// A figure in all rounds is their sum; any other is their median.
func TestFigureOverRounds(t *testing.T) {
	rounds := []float64{0, 3, 0, 1, 0}
	for unit, want := range map[string]float64{"ms": 0, inAll: 4} {
		if got := (figure{unit: unit}).over(rounds); got != want {
			t.Errorf("%v in %q = %v, want %v", rounds, unit, got, want)
		}
	}
}

func TestTable(t *testing.T) {
	var out bytes.Buffer
	r := &report{out: &out, log: io.Discard}
	if err := r.trial(sample()); err != nil {
		t.Fatalf("trial = %v", err)
	}
	want := "\ns/1: what is done\n" +
		"               a  b       c\n" +
		"  time  µs  2.50  -  failed\n"
	if got := out.String(); got != want {
		t.Errorf("table:\n%s\nwant:\n%s", got, want)
	}
}
