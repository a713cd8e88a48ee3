package judge

import "testing"

func TestSteps(t *testing.T) {
	try(t, steps, []sentence{
		{"as decided", `
			10 c1 watched value=7`, "", false},
		{"something else", `
			  9 c1 watched value=7
			> 10 c1 strayed text=unasked`, "c1: unasked", false},
	})
}
