package quote

import "testing"

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
		if got != want {
			t.Errorf("Text(%q) = %q, want %q", text, got, want)
		}
		if again := Text(got); again != got {
			t.Errorf("Text(%q) = %q, want it as it is", got, again)
		}
	}
}
