package multilock

import (
	"errors"
	"strings"
	"testing"
)

// Clients that spread names over sets go together if they have a list of sets in common, whether it is
// that of now or of next for either of them.
func TestRoutes(t *testing.T) {
	for _, tt := range []struct {
		what string
		a, b [2]string // now, next
		want error
	}{
		{"before, and in the first rollout", [2]string{"a b", ""}, [2]string{"a b", "b c"}, nil},
		{"in the first rollout, and after the second", [2]string{"a b", "b c"}, [2]string{"b c", ""}, nil},
		{"before, and after the second", [2]string{"a b", ""}, [2]string{"b c", ""}, ErrRoute},
		{"forth, and back", [2]string{"a b", "b c"}, [2]string{"b c", "a b"}, nil},
		{"back, and before", [2]string{"b c", "a b"}, [2]string{"a b", ""}, nil},
		{"two who go elsewhere from the same", [2]string{"a b", "b c"}, [2]string{"a b", "b d"}, nil},
		{"one of those has arrived", [2]string{"a b", "b c"}, [2]string{"b d", ""}, ErrRoute},
		{"one set of each", [2]string{"a b", "c"}, [2]string{"a", "b c"}, ErrRoute},
		{"who spreads no names", [2]string{"a b", ""}, [2]string{}, nil},
	} {
		terms := func(route [2]string) *Terms {
			t := &Terms{Now: strings.Fields(route[0]), Next: strings.Fields(route[1]), Masters: []Master{{Run: "1"}}}
			if len(t.Now) > 0 {
				t.Part = t.Now[0]
			}
			return t
		}
		a, b := terms(tt.a), terms(tt.b)
		for range 2 {
			if err := Conflict(a, b); !errors.Is(err, tt.want) || tt.want == nil && err != nil {
				t.Errorf("%s: Conflict(%v, %v) = %v, want %v", tt.what, a.Route(), b.Route(), err, tt.want)
			}
			a, b = b, a
		}
	}
}
