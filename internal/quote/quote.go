// Package quote keeps what others wrote from acting on a terminal or forging lines of a log: names of locks
// and of clients, and what masters say, may contain any bytes.
package quote

import (
	"strconv"
	"strings"
)

// asTheyAre undoes what strconv.Quote does to characters that are harmless.
var asTheyAre = strings.NewReplacer(`\\`, `\`, `\"`, `"`)

// Text returns text with everything that is not printed as itself (control characters, line breaks, marks
// that turn the direction of writing, bytes that are not UTF-8) in the form that Go has for it: \x1b, \n,
// \u202e. Text that has been through it stays as it is.
func Text(text string) string {
	quoted := strconv.Quote(text)
	return asTheyAre.Replace(quoted[1 : len(quoted)-1])
}
