package main

import "testing"

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
		if c.got != c.want {
			t.Errorf("%s = %v, want %v", c.name, c.got, c.want)
		}
	}
}
