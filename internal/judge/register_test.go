package judge

import (
	"strings"
	"testing"
)

func TestRegister(t *testing.T) {
	try(t, register, []sentence{
		{"it accepted a late write", `
			  1.0 c1 accepted write a token=4
			  1.1 c1 accepted write a token=6
			> 1.2 c1 accepted write a token=6
			> 1.3 c2 accepted write a token=5`, "token 5 was accepted after one with 6", false},
		{"it refused a late write", `
			1.1 c1 accepted write a token=6
			1.2 c2 refused write a token=5
			1.3 c1 accepted write a token=6`, "", false},
		{"it refused one in time", `
			> 1.1 c1 accepted write a token=6
			> 1.2 c1 refused write a token=6`, "token 6 was refused after one with 6", false},
		{"registers that look at no tokens", `
			1.1 c1 accepted plainwrite a token=6
			1.2 c1 accepted plainwrite a token=5`, "", false},
		{"it refused the first one", `
			> 1.1 c1 refused write a token=6`, "token 6 was refused after one with 0", false},
	})
}

// TestRegisterGoesOn: what was accepted late, or refused, changes nothing for those that follow.
func TestRegisterGoesOn(t *testing.T) {
	for _, test := range []struct {
		name string
		story
		want   []string
		looked int
	}{
		{"late writes", `
			1.0 c1 accepted write a token=6
			1.1 c1 accepted write a token=5
			1.2 c1 accepted write a token=5`, []string{"token 5 was accepted after one with 6", "token 5 was accepted after one with 6"}, 3},
		{"refused for a token that was refused", `
			1.0 c1 refused write a token=7
			1.1 c1 accepted write a token=6`, []string{"token 7 was refused after one with 0"}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, _ := test.read(t)
			r, err := newRecord(h)
			if err != nil {
				t.Fatal(err)
			}
			got := register(r)
			ok := len(got.Violations) == len(test.want) && got.Looked == test.looked
			for i := range min(len(got.Violations), len(test.want)) {
				ok = ok && strings.Contains(got.Violations[i].Text, test.want[i])
			}
			if !ok {
				t.Errorf("looked at %d, want %d; got\n%swant %q", got.Looked, test.looked, show(got.Violations), test.want)
			}
		})
	}
}
