package judge

import "testing"

func TestRegister(t *testing.T) {
	try(t, register, []sentence{
		{"it accepted a late write", `
			c1: 1.0 accepted write a token=4, 1.1 accepted write a token=6, >1.2 accepted write a token=6
			c2: >1.3 accepted write a token=5`, "token 5 was accepted after one with 6"},
		{"it refused a late write", `
			c1: 1.1 accepted write a token=6, 1.3 accepted write a token=6
			c2: 1.2 refused write a token=5`, ""},
		{"it refused one in time", `
			c1: >1.1 accepted write a token=6, >1.2 refused write a token=6`, "token 6 was refused after one with 6"},
		{"registers that look at no tokens", `
			c1: 1.1 accepted plainwrite a token=6, 1.2 accepted plainwrite a token=5`, ""},
		{"it refused the first one", `c1: >1.1 refused write a token=6`, "token 6 was refused after one with 0"},
		{"it accepted a late write, and refused another", `
			c1: >1.0 accepted write a token=6, >1.1 accepted write a token=5,
				1.2 refused write a token=5`, "token 5 was accepted after one with 6"},
		{"it refused one, and accepted one with less", `
			c1: >1.0 refused write a token=7, 1.1 accepted write a token=6`, "token 7 was refused after one with 0"},
	})
}
