package main

import "testing"

// info is what redis-server 7.0 answers, shortened.
const info = "# Clients\r\nconnected_clients:3\r\n# CPU\r\nused_cpu_sys:0.250000\r\nused_cpu_user:0.500000\r\n" +
	"used_cpu_sys_children:9.000000\r\nused_cpu_sys_main_thread:0.125000\r\nused_cpu_user_main_thread:0.375000\r\n# Stats\r\ntotal_net_input_bytes:1000\r\ntotal_net_output_bytes:300\r\n" +
	"total_net_repl_input_bytes:7\r\n# Commandstats\r\n" +
	"cmdstat_evalsha:calls=12,usec=40,usec_per_call=3.33,rejected_calls=0,failed_calls=0\r\n" +
	"cmdstat_eval:calls=1,usec=7,usec_per_call=7.00,rejected_calls=0,failed_calls=0\r\n" +
	"cmdstat_set:calls=5,usec=4,usec_per_call=0.80,rejected_calls=0,failed_calls=0\r\n"

func TestCounters(t *testing.T) {
	var before, after counters
	before.wire, before.reports = 600, 50 // that answer was not in its own count
	before.calls, after.calls = map[string]int64{"set": 2}, make(map[string]int64)
	for range 2 { // two masters
		if err := after.add(info); err != nil {
			t.Fatalf("add = %v", err)
		}
	}
	d := after.since(before)
	for _, c := range []struct {
		name      string
		got, want int64
	}{
		{"all", d.all(), 34},
		{"scripts", d.scripts(), 26},
		{"sent, scripts only", d.sent(nil), 26},
		{"sent, with set", d.sent([]string{"set"}), 34},
		{"connections", d.connections, 6},
		{"wire", d.wire, 2*1300 - 600 - 50},
		{"reports", after.reports, int64(2 * len(info))},
		{"cpu, ms", d.cpu.Milliseconds(), 1500},
		{"CPU of main threads, ms", d.mainThread.Milliseconds(), 1000},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.got != c.want {
				t.Errorf("got %d, want %d", c.got, c.want)
			}
		})
	}
}
