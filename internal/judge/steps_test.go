package judge

import "testing"

func TestSteps(t *testing.T) {
	try(t, steps, []sentence{
		{"as decided", `c1: 10 watched value=7`, ""},
		{"something else", `c1: 9 watched value=7, >10 strayed text=unasked`, "c1: unasked"},
	})
}
