package judge

import "testing"

func TestLoss(t *testing.T) {
	try(t, loss, []sentence{
		{"given back", `
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a until=3
			2.9 c1 call 2 unlock hold=1`, "", false},
		{"told in time", `
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a until=3
			3.03 c1 lost 1
			4.0 c1 call 2 unlock hold=1`, "", false},
		{"told late", `
			  1.0 c1 call 1 lock a
			  1.1 c1 grant 1 a until=3
			> 1.2 c1 alive 1 until=3.2
			> 3.26 c1 lost 1`, "valid until 3.2s, of which it was told, 60ms later", false},
		{"told when it ran again", `
			1.0 c1 started
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a until=3
			2.0 c1 stopped
			4.0 c1 continued
			4.1 c1 stall from=1.9
			4.12 c1 lost 1`, "", false},
		{"told long after it ran again", `
			  1.0 c1 started
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			> 2.0 c1 stopped
			> 4.0 c1 continued
			> 4.1 c1 stall from=1.9
			> 4.14 c1 lost 1`, "1.14s later", false},
		{"not told", `
			  1.0 c1 started
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			  4.0 c1 exited`, "not told at all, 1s later", false},
		{"killed before", `
			1.0 c1 started
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a until=3
			2.0 c1 killed
			5.0 r  over`, "", false},
		{"not told before it unlocked", `
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			> 3.1 c1 call 2 unlock hold=1`, "not told before it unlocked, 100ms later", false},
		{"valid beyond its end", `
			  1.0 c1 call 1 lock a
			  1.1 c1 grant 1 a until=3
			> 3.002 c1 alive 1 until=3
			  3.01 c1 call 2 unlock hold=1`, "had not ended 2ms after its validity", false},
		{"granted when it was over", `
			1.0 c1 call 1 lock a
			3.01 c1 grant 1 a until=3
			3.02 c1 lost 1`, "", false},
		{"valid again", `
			  1.0 c1 call 1 lock a
			  1.1 c1 grant 1 a until=3
			> 1.2 c1 lost 1
			> 1.3 c1 alive 1 until=3
			  1.4 c1 call 2 unlock hold=1`, "was lost, and had not ended 100ms later", false},
		{"told a little late", `
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			> 3.032 c1 lost 1`, "told, 32ms later", false},
		{"the run ends meanwhile", `
			1.0 c1 started
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a until=3
			2.0 r  over`, "", false},
		{"told late, after it had unlocked late", `
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			> 3.1 c1 call 2 unlock hold=1
			  3.2 c1 lost 1`, "not told before it unlocked, 100ms later", false},
		{"told late, after it had unlocked in time", `
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a until=3
			3.02 c1 call 2 unlock hold=1
			3.05 c1 lost 1`, "", false},
		{"killed long after it had been stopped", `
			  1.0 c1 started
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			  2.0 c1 stopped
			  2.1 c1 continued
			  5.0 c1 call 2 lock b
			  5.0 c1 killed`, "not told at all, 2s later", false},
		{"killed, without a word since it had been stopped", `
			  1.0 c1 started
			  1.0 c1 call 1 lock a
			  1.1 c1 grant 1 a until=3
			  2.0 c1 stopped
			  2.1 c1 continued
			  5.0 c1 killed`, "", false},
		{"valid at its end, for as long as it takes to ask", `
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a until=3
			3.001 c1 alive 1 until=3
			3.01 c1 call 2 unlock hold=1`, "", false},
		{"stalls within each other count once", `
			  1.0 c1 started
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a until=3
			> 3.5 c1 stall from=3.4
			> 3.6 c1 stall from=2.9
			> 3.64 c1 lost 1`, "640ms later", false},
		{"stalls that overlap", `
			1.0 c1 started
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a until=3
			3.5 c1 stall from=2.9
			3.6 c1 stall from=3.4
			3.63 c1 lost 1`, "", false},
	})
}
