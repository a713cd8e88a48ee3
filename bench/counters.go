package main

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// counters is what the masters, added up, say that they have done.
type counters struct {
	calls       map[string]int64 // by command, those that scripts made among them
	cpu         time.Duration    // of the processes
	connections int64            // open now
	wire        int64            // bytes, received and sent
	told        int64            // bytes of the answers that say so, which wire does not have yet
}

// counters asks all masters. The asking is counted too, and is little.
func (f *fleet) counters() (counters, error) {
	sum := counters{calls: make(map[string]int64)}
	for _, m := range f.masters {
		info, err := redis.String(m.control.Do("INFO", "all"))
		if err != nil {
			return sum, err
		}
		if err := sum.add(info); err != nil {
			return sum, fmt.Errorf("INFO of %s: %w", m.address, err)
		}
	}
	return sum, nil
}

// add reads one master's INFO.
func (c *counters) add(info string) error {
	lines := bufio.NewScanner(strings.NewReader(info))
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ":")
		command, isCommand := strings.CutPrefix(key, "cmdstat_")
		switch {
		case isCommand:
			calls, _, _ := strings.Cut(strings.TrimPrefix(value, "calls="), ",")
			n, err := strconv.ParseInt(calls, 10, 64)
			if err != nil {
				return err
			}
			c.calls[command] += n
		case key == "used_cpu_user" || key == "used_cpu_sys":
			seconds, err := strconv.ParseFloat(value, 64)
			if err != nil {
				return err
			}
			c.cpu += time.Duration(seconds * float64(time.Second))
		case key == "connected_clients":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return err
			}
			c.connections += n
		case key == "total_net_input_bytes" || key == "total_net_output_bytes":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return err
			}
			c.wire += n
		}
	}
	c.told += int64(len(info))
	return lines.Err()
}

// since returns what happened from before to c.
func (c counters) since(before counters) counters {
	d := counters{
		calls:       make(map[string]int64),
		cpu:         c.cpu - before.cpu,
		connections: c.connections - before.connections,
		wire:        c.wire - before.wire - before.told,
	}
	for command, n := range c.calls {
		d.calls[command] = n - before.calls[command]
	}
	return d
}

// plus returns what happened in two stretches.
func (c counters) plus(d counters) counters {
	sum := counters{
		calls:       make(map[string]int64),
		cpu:         c.cpu + d.cpu,
		connections: c.connections + d.connections,
		wire:        c.wire + d.wire,
	}
	for _, calls := range []map[string]int64{c.calls, d.calls} {
		for command, n := range calls {
			sum.calls[command] += n
		}
	}
	return sum
}

// scripts returns the number of script calls.
func (c counters) scripts() int64 { return c.calls["eval"] + c.calls["evalsha"] }

// sent returns how many commands came over the wire from a client that, beside scripts
// and what keeps connections alive, sends the plain ones: INFO counts those that a script
// makes under the same names.
func (c counters) sent(plain []string) int64 {
	n := c.scripts() + c.calls["ping"] + c.calls["subscribe"]
	for _, command := range plain {
		n += c.calls[command]
	}
	return n
}
