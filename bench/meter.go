package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/gomodule/redigo/redis"
)

// usage is what a stretch of a trial used.
type usage struct {
	wall          time.Duration
	cpu           time.Duration // of this process: the client, and the benchmark's small share
	allocs, bytes uint64
	masters       counters
}

// during returns what was used while work ran. Asking the masters is not part of that.
func (f *fleet) during(work func() error) (usage, error) {
	masters, err := f.counters()
	if err != nil {
		return usage{}, err
	}
	before, began := readProcess(), time.Now()
	if err := work(); err != nil {
		return usage{}, err
	}
	wall, after := time.Since(began), readProcess()
	now, err := f.counters()
	return usage{
		wall:    wall,
		cpu:     after.cpu - before.cpu,
		allocs:  after.allocs - before.allocs,
		bytes:   after.bytes - before.bytes,
		masters: now.since(masters),
	}, err
}

// use returns what client and masters use in d.
func (e *env) use(ctx context.Context, d time.Duration) (usage, error) {
	return e.fleet.during(func() error {
		sleep(ctx, d)
		return nil
	})
}

// readProcess returns what this process has used until now.
func readProcess() usage {
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	var process syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &process) // fails only for wrong arguments
	return usage{
		cpu:    time.Duration(process.Utime.Nano() + process.Stime.Nano()),
		allocs: memory.Mallocs,
		bytes:  memory.TotalAlloc,
	}
}

// counters are the numbers that the masters report in INFO, added up. That of cmdstat_x is how often the
// command x was called, by scripts as well.
type counters map[string]float64

// reported is how many bytes the INFO answers themselves had, which total_net_output_bytes does not include
// yet.
const reported = "reported"

// counters asks all masters. The requests are counted too, but there are few.
func (f *fleet) counters() (counters, error) {
	sum := counters{}
	for _, m := range f.masters {
		if m.control == nil {
			continue // it was killed
		}
		info, err := redis.String(m.control.Do("INFO", "all"))
		if err != nil {
			return nil, err
		}
		sum.add(info)
	}
	return sum, nil
}

// add reads one master's INFO.
func (c counters) add(info string) {
	for line := range strings.Lines(info) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value, _, _ = strings.Cut(strings.TrimPrefix(value, "calls="), ",")
		if n, err := strconv.ParseFloat(value, 64); err == nil {
			c[key] += n
		}
	}
	c[reported] += float64(len(info))
}

// since returns what happened between before and c.
func (c counters) since(before counters) counters {
	d := counters{"total_net_output_bytes": -before[reported]}
	for key, n := range c {
		d[key] += n - before[key]
	}
	return d
}

// cpu returns the CPU time of the masters, in µs.
func (c counters) cpu() float64 { return 1e6 * (c["used_cpu_user"] + c["used_cpu_sys"]) }

// wire returns the bytes received and sent.
func (c counters) wire() float64 { return c["total_net_input_bytes"] + c["total_net_output_bytes"] }

// scripts returns the number of script calls.
func (c counters) scripts() float64 { return c["cmdstat_eval"] + c["cmdstat_evalsha"] }

// sent returns how many commands clients sent: scripts, those that keep connections alive, and the
// plain ones. Other commands are not counted, since INFO counts what a script calls under the same
// names.
func (c counters) sent(plain []string) float64 {
	n := c.scripts() + c["cmdstat_ping"] + c["cmdstat_subscribe"]
	for _, command := range plain {
		n += c["cmdstat_"+command]
	}
	return n
}

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
