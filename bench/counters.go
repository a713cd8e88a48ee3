package main

import (
	"bufio"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// counters is what the masters report that they have done, added up.
type counters struct {
	calls       map[string]int64 // by command, including those that scripts made
	cpu         time.Duration    // of the processes
	mainThread  time.Duration    // of the threads that run the commands
	connections int64            // open now
	accepted    int64            // connections so far
	wire        int64            // bytes received and sent
	reports     int64            // bytes of the INFO answers themselves, which wire does not include yet
}

// counters asks all masters. The requests are counted too, but there are few.
func (f *fleet) counters() (counters, error) {
	sum := counters{calls: make(map[string]int64)}
	for _, m := range f.masters {
		if m.control == nil {
			continue
		}
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
			if err := addSeconds(&c.cpu, value); err != nil {
				return err
			}
		case key == "used_cpu_user_main_thread" || key == "used_cpu_sys_main_thread":
			if err := addSeconds(&c.mainThread, value); err != nil {
				return err
			}
		case key == "connected_clients":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return err
			}
			c.connections += n
		case key == "total_connections_received":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return err
			}
			c.accepted += n
		case key == "total_net_input_bytes" || key == "total_net_output_bytes":
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				return err
			}
			c.wire += n
		}
	}
	c.reports += int64(len(info))
	return lines.Err()
}

// addSeconds adds a number of seconds to sum.
func addSeconds(sum *time.Duration, value string) error {
	seconds, err := strconv.ParseFloat(value, 64)
	*sum += time.Duration(seconds * float64(time.Second))
	return err
}

// since returns what happened between before and c.
func (c counters) since(before counters) counters {
	d := counters{
		calls:       make(map[string]int64),
		cpu:         c.cpu - before.cpu,
		mainThread:  c.mainThread - before.mainThread,
		connections: c.connections - before.connections,
		wire:        c.wire - before.wire - before.reports,
	}
	for command, n := range c.calls {
		d.calls[command] = n - before.calls[command]
	}
	return d
}

// all returns the number of commands, including those that scripts made.
func (c counters) all() int64 {
	var n int64
	for _, calls := range c.calls {
		n += calls
	}
	return n
}

// scripts returns the number of script calls.
func (c counters) scripts() int64 { return c.calls["eval"] + c.calls["evalsha"] }

// sent returns how many commands clients sent: scripts, those that keep connections alive, and the
// plain ones. Other commands are not counted, since INFO counts what a script calls under the same
// names.
func (c counters) sent(plain []string) int64 {
	n := c.scripts() + c.calls["ping"] + c.calls["subscribe"]
	for _, command := range plain {
		n += c.calls[command]
	}
	return n
}
