package multilock

import "testing"

func TestMatches(t *testing.T) {
	for _, tt := range []struct {
		pattern string
		yes, no []string
	}{
		{"", []string{""}, []string{"a"}},
		{"*", []string{"", "a", "a:b"}, nil},
		{"a*", []string{"a", "ab"}, []string{"", "b", "ba"}},
		{"*:42", []string{":42", "orders:42", "a:42:42"}, []string{"42", "orders:421"}},
		{"a*b*c", []string{"abc", "a--b--bc"}, []string{"ab", "acb"}},
		{"h?llo", []string{"hello", "h*llo"}, []string{"hllo", "heello"}},
		{"h[ae]llo", []string{"hello", "hallo"}, []string{"hillo", "hllo"}},
		{"h[^e]llo", []string{"hallo"}, []string{"hello", "hllo"}},
		{"h[a-c]llo", []string{"hbllo"}, []string{"hdllo", "h-llo"}},
		{"h[c-a]llo", []string{"hbllo"}, []string{"hdllo"}},
		{`a\*`, []string{"a*"}, []string{"ab", `a\*`}},
		{`[\]]`, []string{"]"}, []string{`\`, "a"}},
		{"[ab", []string{"a", "b"}, []string{"[", "c"}},
		{`a\`, []string{`a\`}, []string{"a"}},
		{"[]", nil, []string{"", "]", "a"}},
	} {
		for _, name := range tt.yes {
			if !matches(tt.pattern, name) {
				t.Errorf("%q does not match %q, want that it does", tt.pattern, name)
			}
		}
		for _, name := range tt.no {
			if matches(tt.pattern, name) {
				t.Errorf("%q matches %q, want that it does not", tt.pattern, name)
			}
		}
	}
}
