package quote

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"example.com/redlock/internal/check"
)

func TestText(t *testing.T) {
	for text, want := range map[string]string{
		"":                          "",
		`orders:42 "ä" \x1b 世界 😀`:   `orders:42 "ä" \x1b 世界 😀`,
		"\x1b]0;owned\x07\x1b[2J":   `\x1b]0;owned\a\x1b[2J`,
		"a\nredlock: b\r\tc":        `a\nredlock: b\r\tc`,
		"\u009b31m":                 `\u009b31m`, // CSI in one character
		"a\u202eb\u200bc\u2028d":    `a\u202eb\u200bc\u2028d`,
		"\x9b31m\xff\xe4\xb8a\x00b": `\x9b31m\xff\xe4\xb8a\x00b`,
		"\ufffd":                    "\ufffd", // the character, not a byte that is none
	} {
		got := Text(text)
		check.Equal(t, got, want, "Text(%q)", text)
		if again := Text(got); again != got {
			t.Errorf("Text(%q) = %q, want it as it is", got, again)
		}
	}
}

func TestBrief(t *testing.T) {
	long := strings.Repeat("ä", 30_000)
	for text, want := range map[string]string{
		"":                         "",
		strings.Repeat("x", 42):    strings.Repeat("x", 42),
		strings.Repeat("x", 43):    "xxxxxxxxxx… (43 bytes)",
		long:                       "äääää… (60000 bytes)",
		"x" + long:                 "xääää… (60001 bytes)",
		strings.Repeat("\xff", 99): "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff… (99 bytes)",
		strings.Repeat("\x80", 99): "… (99 bytes)", // no rune begins there
	} {
		got := Brief(text, 10)
		check.Equal(t, got, want, "Brief(%.50q)", text)
		if again := Brief(got, 10); again != got {
			t.Errorf("Brief(%q) = %q, want it as it is", got, again)
		}
	}
}

// TestValue: whatever a reply is, no more than its beginning is written.
func TestValue(t *testing.T) {
	million := strings.Repeat("\x1b", 1e6)
	for _, tt := range []struct {
		reply any
		want  string
	}{
		{nil, "nothing"},
		{int64(-5), "the number -5"},
		{"OK", `a string of 2 bytes, "OK"`},
		{[]byte("a\nb"), `a string of 3 bytes, "a\nb"`},
		{errors.New("ERR no"), `the error "ERR no"`},
		{[]any{}, "a list of 0"},
		{[]any{int64(1), "x"}, "a list of 2, the first the number 1"},
		{[]any{[]any{[]any{}}}, "a list of 1, the first a list of 1"},
		{make([]any, 1<<16), "a list of 65536, the first nothing"},
		{1.5, "a float64"},
		{million, `a string of 1000000 bytes, "` + strings.Repeat(`\x1b`, Most) + `…"`},
		{[]byte(million), `a string of 1000000 bytes, "` + strings.Repeat(`\x1b`, Most) + `…"`},
		{errors.New(million), `the error "` + strings.Repeat(`\x1b`, Most) + `…"`},
	} {
		if got := Value(tt.reply); got != tt.want || !utf8.ValidString(got) {
			t.Errorf("Value(%.50q) = %q, want %q", tt.reply, got, tt.want)
		}
	}
}
