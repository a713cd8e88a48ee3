// Package quote keeps what others wrote from acting on a terminal or forging lines of a log: names of locks
// and of clients, and what masters say, may contain any bytes.
package quote

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Text returns text with everything that is not printed as itself (control characters, line breaks, marks
// that turn the direction of writing, bytes that are not UTF-8) in the form that Go has for it: \x1b, \n,
// \u202e. Text that has been through it stays as it is.
func Text(text string) string {
	var b strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		switch {
		case r == utf8.RuneError && size == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(text[0]), 16)) // 80 or more: two digits
		case unicode.IsPrint(r):
			b.WriteString(text[:size])
		default:
			quoted := strconv.QuoteRune(r)
			b.WriteString(quoted[1 : len(quoted)-1])
		}
		text = text[size:]
	}
	return b.String()
}
