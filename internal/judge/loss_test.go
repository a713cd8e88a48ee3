package judge

import "testing"

func TestLoss(t *testing.T) {
	try(t, loss, []sentence{
		{"given back", `c1: 1.0 lock a, 1.1 grant until=3, 2.9 unlock`, ""},
		{"told in time", `c1: 1.0 lock a, 1.1 grant until=3, 3.03 lost, 4.0 unlock`, ""},
		{"told late", `
			c1: 1.0 lock a, 1.1 grant until=3, >1.2 alive until=3.2,
				>3.26 lost`, "valid until 3.2s, of which it was told, 60ms later"},
		{"told when it ran again", `
			c1: 1.0 started, 1.0 lock a, 1.1 grant until=3, 2.0 stopped, 4.0 continued, 4.1 stall from=1.9, 4.12 lost`, ""},
		{"told long after it ran again", `
			c1: 1.0 started, 1.0 lock a, >1.1 grant until=3, >2.0 stopped, >4.0 continued, >4.1 stall from=1.9,
				>4.14 lost`, "1.14s later"},
		{"not told", `c1: 1.0 started, 1.0 lock a, >1.1 grant until=3, 4.0 exited`, "not told at all, 1s later"},
		{"killed before", `
			c1: 1.0 started, 1.0 lock a, 1.1 grant until=3, 2.0 killed
			r: 5.0 over`, ""},
		{"not told before it unlocked", `
			c1: 1.0 lock a, >1.1 grant until=3, >3.1 unlock`, "not told before it unlocked, 100ms later"},
		{"valid beyond its end", `
			c1: 1.0 lock a, 1.1 grant until=3, >3.002 alive, 3.01 unlock`, "had not ended 2ms after its validity"},
		{"granted when it was over", `c1: 1.0 lock a, 3.01 grant until=3, 3.02 lost`, ""},
		{"valid again", `
			c1: 1.0 lock a, 1.1 grant until=3, >1.2 lost, >1.3 alive, 1.4 unlock`, "was lost, and had not ended 100ms later"},
		{"told a little late", `c1: 1.0 lock a, >1.1 grant until=3, >3.032 lost`, "told, 32ms later"},
		{"the run ends meanwhile", `
			c1: 1.0 started, 1.0 lock a, 1.1 grant until=3
			r: 2.0 over`, ""},
		{"told late, after it had unlocked late", `
			c1: 1.0 lock a, >1.1 grant until=3, >3.1 unlock, 3.2 lost`, "not told before it unlocked, 100ms later"},
		{"told late, after it had unlocked in time", `c1: 1.0 lock a, 1.1 grant until=3, 3.02 unlock, 3.05 lost`, ""},
		{"killed long after it had been stopped", `
			c1: 1.0 started, 1.0 lock a, >1.1 grant until=3, 2.0 stopped, 2.1 continued, 5.0 lock b,
				5.0 killed`, "not told at all, 2s later"},
		{"killed, without a word since it had been stopped", `
			c1: 1.0 started, 1.0 lock a, 1.1 grant until=3, 2.0 stopped, 2.1 continued, 5.0 killed`, ""},
		{"valid at its end, for as long as it takes to ask", `
			c1: 1.0 lock a, 1.1 grant until=3, 3.001 alive, 3.01 unlock`, ""},
		{"stalls within each other count once", `
			c1: 1.0 started, 1.0 lock a, >1.1 grant until=3, >3.5 stall from=3.4, >3.6 stall from=2.9,
				>3.64 lost`, "640ms later"},
		{"stalls that overlap", `
			c1: 1.0 started, 1.0 lock a, 1.1 grant until=3, 3.5 stall from=2.9, 3.6 stall from=3.4, 3.63 lost`, ""},
	})
}
