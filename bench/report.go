package main

import (
	"fmt"
	"io"
	"math"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// report prints the figures, a table for each trial as soon as it is done.
type report struct {
	Machine machine

	parts    []part
	out, log io.Writer
}

// machine says where and with which versions the figures were measured.
type machine struct {
	System    string
	CPUs      int
	Go        string
	Redis     string
	Masters   int
	Rounds    int
	Duration  string
	Libraries []string
}

func describe(f *fleet, opts options) machine {
	m := machine{
		System:   runtime.GOOS + "/" + runtime.GOARCH,
		CPUs:     runtime.NumCPU(),
		Go:       runtime.Version(),
		Redis:    f.version,
		Masters:  len(f.masters),
		Rounds:   opts.rounds,
		Duration: opts.duration.String(),
	}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, dep := range build.Deps {
			if slices.Contains(contenderModules, dep.Path) {
				m.Libraries = append(m.Libraries, dep.Path+"@"+dep.Version)
			}
		}
	}
	return m
}

// contenderModules are the modules whose versions are reported with the figures.
var contenderModules = []string{
	"github.com/go-redsync/redsync/v4", "github.com/gomodule/redigo", "github.com/redis/go-redis/v9",
	"github.com/bsm/redislock", "github.com/redis/rueidis", "go.etcd.io/etcd/client/v3", "github.com/jackc/pgx/v5",
}

func (r *report) begin() {
	m := r.Machine
	fmt.Fprintf(r.out, "redis %s, %s, %s, %d CPUs, %d masters; medians of %d rounds of %s\n%s\n",
		m.Redis, m.Go, m.System, m.CPUs, m.Masters, m.Rounds, m.Duration, strings.Join(m.Libraries, " "))
}

// trial adds the results of a trial, in the order of contenders.
func (r *report) trial(t trial, contenders []contender, results []result) error {
	r.parts = append(r.parts, part{t, contenders, results})
	for i, c := range contenders {
		if err := results[i].err; err != nil {
			fmt.Fprintf(r.log, "bench: %s: %s failed: %v\n", t.id(), c.name, err)
		}
	}
	return r.table(t, contenders, results)
}

// figuresOf lists the figures that any of the results has, in order of first appearance.
func figuresOf(results []result) []figure {
	var list []figure
	for _, res := range results {
		for _, round := range res.rounds {
			for _, f := range round {
				if !slices.ContainsFunc(list, func(g figure) bool { return g.name == f.name }) {
					list = append(list, f)
				}
			}
		}
	}
	return list
}

// table prints a line for each figure and a column for each contender of the trial.
func (r *report) table(t trial, contenders []contender, results []result) error {
	fmt.Fprintf(r.out, "\n%s: %s\n", t.id(), t.title)
	w := tabwriter.NewWriter(r.out, 0, 0, 2, ' ', tabwriter.AlignRight)
	cells := []string{"", ""}
	for _, c := range contenders {
		cells = append(cells, c.name)
	}
	fmt.Fprintln(w, strings.Join(cells, "\t")+"\t")
	for _, f := range figuresOf(results) {
		cells := []string{f.name, f.unit}
		for _, res := range results {
			cells = append(cells, cell(res, f))
		}
		fmt.Fprintln(w, strings.Join(cells, "\t")+"\t")
	}
	return w.Flush()
}

// cell formats the value of f in res, or says why there is none.
func cell(res result, f figure) string {
	values := res.values(f.name)
	switch {
	case res.err != nil:
		return "failed"
	case len(values) == 0:
		return "-"
	}
	return number(f.over(values))
}

// number formats v with two decimals below 10, one below 100 and none above; whole numbers have none.
func number(v float64) string {
	size := math.Abs(v)
	switch {
	case v == math.Trunc(v) || size >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case size >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 2, 64)
}
