package judge

import "testing"

func TestRegister(t *testing.T) {
	try(t, register, []sentence{
		{"in turn", `
			1.0 c1 call 1 read a
			1.1 c1 return 1 value=0
			1.2 c1 call 2 write a token=5 value=1
			1.3 c1 return 2
			1.4 c2 call 1 read a
			1.5 c2 return 1 value=1
			1.6 c2 call 2 write a token=6 base=1 value=2
			1.7 c2 return 2
			1.8 c1 call 3 write a token=5 value=2
			1.9 c1 return 3 err=stale
			2.0 c1 call 4 read a
			2.1 c1 return 4 value=2`, "", false},
		{"a late write was accepted", `
			> 1.0 c1 call 1 write a token=6 value=1
			> 1.1 c1 return 1
			> 1.2 c2 call 1 write a token=5 value=2
			> 1.3 c2 return 1
			  1.4 c1 call 2 read a
			  1.5 c1 return 2 value=2`, "c2 wrote 2 with token 5", false},
		{"at the same time", `
			1.0 c1 call 1 write a token=6 value=1
			1.1 c2 call 1 write a token=5 value=2
			1.2 c1 return 1
			1.3 c2 return 1
			1.4 c1 call 2 read a
			1.5 c1 return 2 value=1`, "", false},
		{"an old value", `
			> 1.0 c1 call 1 write a token=5 value=1
			> 1.1 c1 return 1
			> 1.2 c1 call 2 write a token=5 value=2
			> 1.3 c1 return 2
			  1.4 c1 call 3 write a token=5 value=3
			> 1.5 c2 call 1 read a
			> 1.6 c2 return 1 value=1
			  1.7 c1 return 3`, "c2 read 1", false},
		{"nobody's value", `
			  1.0 c1 call 1 write a token=5 value=1
			  1.1 c1 return 1
			> 1.2 c2 call 1 read a
			> 1.3 c2 return 1 value=7`, "c2 read 7", false},
		{"the value of a write that was refused", `
			  1.0 c1 call 1 write a token=5 value=1
			  1.1 c1 return 1
			  1.2 c2 call 1 write a token=4 value=2
			  1.3 c2 return 1 err=stale
			> 1.4 c2 call 2 read a
			> 1.5 c2 return 2 value=2`, "c2 read 2", false},
		{"refused without reason", `
			  1.0 c1 call 1 write a token=5 value=1
			  1.1 c1 return 1
			> 1.2 c1 call 2 write a token=5 value=2
			> 1.3 c1 return 2 err=stale`, "c1 was refused with token 5", false},
		{"a write without an answer was carried out", `
			1.0 c1 call 1 write a token=5 value=1
			1.2 c1 return 1 err=unreached
			1.2 c2 call 1 read a
			1.3 c2 return 1 value=0
			1.4 c2 call 2 read a
			1.5 c2 return 2 value=1
			1.6 c3 call 1 write a token=4 value=2
			1.7 c3 return 1 err=stale`, "", false},
		{"and was not", `
			1.0 c1 call 1 write a token=5 value=1
			1.2 c2 call 1 read a
			1.3 c2 return 1 value=0
			1.6 c3 call 1 write a token=6 value=2
			1.7 c3 return 1
			1.8 c2 call 2 read a
			1.9 c2 return 2 value=2`, "", false},
		{"but not after a larger token", `
			> 1.0 c1 call 1 write a token=5 value=1
			> 1.6 c3 call 1 write a token=6 value=2
			> 1.7 c3 return 1
			> 1.8 c2 call 1 read a
			> 1.9 c2 return 1 value=1`, "c2 read 1", false},
		{"of two names", `
			1.0 c1 call 1 write a token=5 value=1
			1.1 c1 return 1
			1.2 c2 call 1 write b token=4 value=2
			1.3 c2 return 1
			1.4 r  accepted write a token=5
			1.5 r  accepted write b token=4`, "", false},
		{"the register accepted a late write", `
			  1.0 c1 accepted write a token=4
			  1.1 c1 accepted write a token=6
			> 1.2 c1 accepted write a token=6
			> 1.3 c2 accepted write a token=5`, "token 5 was accepted after one with 6", false},
		{"the register refused a late write", `
			1.1 c1 accepted write a token=6
			1.2 c2 refused write a token=5
			1.3 c1 accepted write a token=6`, "", false},
		{"the register refused one in time", `
			> 1.1 c1 accepted write a token=6
			> 1.2 c1 refused write a token=6`, "token 6 was refused after one with 6", false},
		{"registers that look at no tokens", `
			1.1 c1 accepted plainwrite a token=6
			1.2 c1 accepted plainwrite a token=5`, "", false},
	})
}
