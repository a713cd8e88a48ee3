package judge

import "testing"

func TestTokens(t *testing.T) {
	try(t, tokens, []sentence{
		{"growing", `
			c1: 1.0 lock a, 1.1 grant token=5 until=3
			c2: 1.2 lock a, 1.3 grant token=6 until=3`, ""},
		{"a smaller one", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3
			c2: >1.2 lock a, >1.3 grant token=4 until=3`, "c1 has token 5, c2 asked later, and has 4"},
		{"a smaller one of what a client kept, though a master forgot it", `
			c2: 0.1 started keep=1, >1.2 lock a, >1.3 grant token=4 until=3
			r: 0.9 fault flushall on=m1 forgets, 0.95 mended
			c1: 1.0 lock a, >1.1 grant token=5 until=3`, "unpromised: c1 has token 5, c2 asked later, and has 4"},
		{"a smaller one of what a client kept, though none forgot it", `
			c2: 0.1 started keep=1, >1.2 lock a, >1.3 grant token=4 until=3
			c1: 1.0 lock a, >1.1 grant token=5 until=3`, "c1 has token 5, c2 asked later, and has 4"},
		{"in any order where both asked before", `
			c2: 1.1 lock a, 1.3 grant token=4 until=3
			c1: 1.0 lock a, 1.1 grant token=5 until=3`, ""},
		{"of two names", `
			c1: 1.0 lock a, 1.1 grant token=5 until=3
			c2: 1.2 lock b, 1.3 grant token=4 until=3`, ""},
		{"of two slots", `
			c1: 1.0 acquire s, 1.1 grant slot=1 token=5 until=3
			c2: 1.2 acquire s, 1.3 grant slot=2 token=4 until=3`, ""},
		{"one twice", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3
			c2: >1.0 lock a, >1.3 grant token=5 until=3`, "c2 has the same 5"},
		{"a reader with that of the writer before", `
			c1: 1.0 lock a, 1.1 grant token=5 until=3
			c2: 1.2 rlock a, 1.3 grant token=5 shared until=3
			c3: 1.4 rlock a, 1.5 grant token=5 shared until=3`, ""},
		{"a reader with that of a hold that was forgotten", `
			c1: 0.8 lock a, 0.9 grant token=4 until=9
			r: 0.92 fault flushall on=m1 forgets, 0.95 mended
			c2: 1.0 lock a, >1.1 grant token=5 until=3
			c3: >1.2 rlock a,
				>1.3 grant token=4 shared until=3`, "unpromised: c2 has token 5, c3 asked later, to read, and has 4"},
		{"a reader with that of a hold that was not", `
			c1: 0.8 lock a, 0.9 grant token=4 until=9
			c2: 1.0 lock a, >1.1 grant token=5 until=3
			c3: >1.2 rlock a, >1.3 grant token=4 shared until=3`, "c2 has token 5, c3 asked later, to read, and has 4"},
		{"a reader with less than the writer before", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3
			c2: >1.2 rlock a, >1.3 grant token=4 shared until=3`, "asked later, to read, and has 4"},
		{"readers in any order", `
			c1: 1.0 rlock a, 1.1 grant token=5 shared until=3
			c2: 1.2 rlock a, 1.3 grant token=4 shared until=3`, ""},
		{"a writer with that of the reader before", `
			c1: 1.0 rlock a, >1.1 grant token=5 shared until=3
			c2: >1.2 lock a, >1.3 grant token=5 until=3`, "c2 asked later, and has 5"},
		{"a smaller one than the largest before", `
			c1: 1.0 lock a, >1.1 grant token=7 until=3
			c2: 1.0 lock a, 1.2 grant token=5 until=3
			c3: >1.3 lock a, >1.4 grant token=6 until=3`, "c1 has token 7, c3 asked later, and has 6"},
		{"a reader with less than the largest of the writers before", `
			c1: 1.0 lock a, >1.1 grant token=7 until=3
			c2: 1.0 lock a, 1.2 grant token=5 until=3
			c3: >1.3 rlock a, >1.4 grant token=6 shared until=3`, "c1 has token 7, c3 asked later, to read, and has 6"},
		{"one twice, the second asked later", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3
			c2: >1.2 lock a, >1.3 grant token=5 until=3`, "c2 has the same 5"},
		{"the second of three", `
			c1: 1.0 lock a, 1.1 grant token=4 until=3
			c2: 1.2 lock a, >1.3 grant token=6 until=3
			c3: >1.4 lock a, >1.5 grant token=3 until=3`, "c2 has token 6, c3 asked later, and has 3"},
		{"a reader after two writers", `
			c1: 1.0 lock a, 1.1 grant token=4 until=3
			c2: 1.2 lock a, >1.3 grant token=6 until=3
			c3: >1.4 rlock a, >1.5 grant token=4 shared until=3`, "c2 has token 6, c3 asked later, to read, and has 4"},
		{"of two who waited", `
			c1: 1.0 lock a, 1.3 grant token=6 until=3, 1.4 alive
			c2: 1.0 lock a, 1.1 grant token=5 until=3, 1.2 alive`, ""},
		{"the later of two who waited has the smaller one", `
			c1: 1.0 lock a, >1.3 grant token=4 until=3, >1.4 alive
			c2: 1.0 lock a, >1.1 grant token=5 until=3, 1.2 alive
			c3: 1.5 lock a, 1.6 grant token=6 until=3, 1.7 alive`, "c2 has token 5, c1 had it later, and has 4"},
		{"the later of two was told late that it had it", `
			c1: 1.0 lock a, 1.3 grant token=4 until=1.05
			c2: 1.0 lock a, 1.1 grant token=5 until=3, 1.2 alive`, ""},
		{"a writer who came while another had it", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3, >1.4 alive
			c2: 1.0 lock a, >1.3 grant token=6 until=3`, "c2 has token 6, c1 had it later, and has 5"},
		{"a reader who waited, with that of the writer before the last", `
			c3: 1.0 rlock a, >1.5 grant token=5 shared until=3, >1.6 alive
			c1: 1.0 lock a, 1.1 grant token=5 until=3, 1.2 alive
			c2: 1.2 lock a, >1.3 grant token=6 until=3, 1.4 alive`, "c2 has token 6, c3 had it later, and has 5"},
		{"a reader after a downgrade", `
			c1: 1.0 lock a, 1.1 grant token=5 until=3, 1.3 downgrade, 1.5 alive
			c2: 1.2 rlock a, 1.4 grant token=5 shared until=3, 1.6 alive`, ""},
		{"a reader before the downgrade", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3, 1.4 downgrade, >1.5 alive
			c2: 1.2 rlock a, >1.3 grant token=5 shared until=3, 1.5 alive`, "c2 has token 5, c1 had it later, and has 5"},
		{"a writer beside one that is a reader by now", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3, 1.3 downgrade, >1.5 alive
			c2: 1.0 lock a, >1.4 grant token=6 until=3`, "c2 has token 6, c1 had it later, and has 5"},
		{"two whom nobody promised to exclude", `
			c1: 1.0 lock a, 1.1 grant token=5 until=3, 1.5 alive
			r: 1.2 fault flushall on=m1 forgets
			c2: 1.3 lock a, 1.4 grant token=6 until=3, 1.5 alive`, ""},
		{"two whom nobody promised to exclude, but their tokens", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3, 1.5 alive
			r: >1.2 fault flushall on=m1 forgets
			c2: >1.3 lock a, >1.4 grant token=4 until=3, 1.5 alive`, "c1 has token 5, c2 asked later, and has 4"},
		{"a master forgot before the first in the order was told that it had it", `
			c1: 1.0 lock a, 1.3 grant token=5 until=3, 1.4 alive
			c2: 1.0 lock a, 1.1 grant token=6 until=3, 1.4 alive
			r: 1.2 fault flushall on=m1 forgets`, ""},
	})
}
