package judge

import "testing"

func TestTokens(t *testing.T) {
	try(t, tokens, []sentence{
		{"growing", `
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a token=5 until=3
			1.2 c2 call 1 lock a
			1.3 c2 grant 1 a token=6 until=3`, "", false},
		{"a smaller one", `
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a token=5 until=3
			> 1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a token=4 until=3`, "c1 has token 5, c2 asked later, and has 4", false},
		{"a smaller one of what a client kept, though a master forgot it", `
			  0.1 c2 started keep=1
			  0.9 r  fault 1 flushall on=m1 forgets
			  0.95 r mended 1
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a token=5 until=3
			> 1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a token=4 until=3`, "c1 has token 5, c2 asked later, and has 4", true},
		{"a smaller one of what a client kept, though none forgot it", `
			  0.1 c2 started keep=1
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a token=5 until=3
			> 1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a token=4 until=3`, "c1 has token 5, c2 asked later, and has 4", false},
		{"in any order where both asked before", `
			1.0 c1 call 1 lock a
			1.1 c2 call 1 lock a
			1.1 c1 grant 1 a token=5 until=3
			1.3 c2 grant 1 a token=4 until=3`, "", false},
		{"of two names", `
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a token=5 until=3
			1.2 c2 call 1 lock b
			1.3 c2 grant 1 b token=4 until=3`, "", false},
		{"of two slots", `
			1.0 c1 call 1 acquire s
			1.1 c1 grant 1 s slot=1 token=5 until=3
			1.2 c2 call 1 acquire s
			1.3 c2 grant 1 s slot=2 token=4 until=3`, "", false},
		{"one twice", `
			  1.0 c1 call 1 lock a
			> 1.0 c2 call 1 lock a
			> 1.1 c1 grant 1 a token=5 until=3
			> 1.3 c2 grant 1 a token=5 until=3`, "c2 has the same 5", false},
		{"a reader with that of the writer before", `
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a token=5 until=3
			1.2 c2 call 1 rlock a
			1.3 c2 grant 1 a token=5 shared until=3
			1.4 c3 call 1 rlock a
			1.5 c3 grant 1 a token=5 shared until=3`, "", false},
		{"a reader with that of a hold that was forgotten", `
			  0.8 c1 call 1 lock a
			  0.9 c1 grant 1 a token=4 until=9
			  0.92 r fault 1 flushall on=m1 forgets
			  0.95 r mended 1
			  1.0 c2 call 1 lock a
			> 1.1 c2 grant 1 a token=5 until=3
			> 1.2 c3 call 1 rlock a
			> 1.3 c3 grant 1 a token=4 shared until=3`, "c2 has token 5, c3 asked later, to read, and has 4", true},
		{"a reader with that of a hold that was not", `
			  0.8 c1 call 1 lock a
			  0.9 c1 grant 1 a token=4 until=9
			  1.0 c2 call 1 lock a
			> 1.1 c2 grant 1 a token=5 until=3
			> 1.2 c3 call 1 rlock a
			> 1.3 c3 grant 1 a token=4 shared until=3`, "c2 has token 5, c3 asked later, to read, and has 4", false},
		{"a reader with less than the writer before", `
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a token=5 until=3
			> 1.2 c2 call 1 rlock a
			> 1.3 c2 grant 1 a token=4 shared until=3`, "asked later, to read, and has 4", false},
		{"readers in any order", `
			1.0 c1 call 1 rlock a
			1.1 c1 grant 1 a token=5 shared until=3
			1.2 c2 call 1 rlock a
			1.3 c2 grant 1 a token=4 shared until=3`, "", false},
		{"a writer with that of the reader before", `
			  1.0 c1 call 1 rlock a
			> 1.1 c1 grant 1 a token=5 shared until=3
			> 1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a token=5 until=3`, "c2 asked later, and has 5", false},
		{"a smaller one than the largest before", `
			  1.0 c1 call 1 lock a
			  1.0 c2 call 1 lock a
			> 1.1 c1 grant 1 a token=7 until=3
			  1.2 c2 grant 1 a token=5 until=3
			> 1.3 c3 call 1 lock a
			> 1.4 c3 grant 1 a token=6 until=3`, "c1 has token 7, c3 asked later, and has 6", false},
		{"a reader with less than the largest of the writers before", `
			  1.0 c1 call 1 lock a
			  1.0 c2 call 1 lock a
			> 1.1 c1 grant 1 a token=7 until=3
			  1.2 c2 grant 1 a token=5 until=3
			> 1.3 c3 call 1 rlock a
			> 1.4 c3 grant 1 a token=6 shared until=3`, "c1 has token 7, c3 asked later, to read, and has 6", false},
		{"one twice, the second asked later", `
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a token=5 until=3
			> 1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a token=5 until=3`, "c2 has the same 5", false},
		{"the second of three", `
			  1.0 c1 call 1 lock a
			  1.1 c1 grant 1 a token=4 until=3
			  1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a token=6 until=3
			> 1.4 c3 call 1 lock a
			> 1.5 c3 grant 1 a token=3 until=3`, "c2 has token 6, c3 asked later, and has 3", false},
		{"a reader after two writers", `
			  1.0 c1 call 1 lock a
			  1.1 c1 grant 1 a token=4 until=3
			  1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a token=6 until=3
			> 1.4 c3 call 1 rlock a
			> 1.5 c3 grant 1 a token=4 shared until=3`, "c2 has token 6, c3 asked later, to read, and has 4", false},
	})
}
