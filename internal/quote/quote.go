// Package quote keeps what others wrote from acting on a terminal, forging lines of a log, or filling them:
// names of locks and of clients, and what masters say, may contain any bytes, and as many as they like.
package quote

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
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

// Most is how many bytes of a value are quoted.
const Most = 100

// tail is more than what Brief adds.
const tail = 32

// Brief returns text that is not much longer than most bytes as it is, and otherwise its beginning and its
// length: "ERR no such … (60000 bytes)". Text that has been through it stays as it is.
func Brief(text string, most int) string {
	if len(text) <= most+tail {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return fmt.Sprintf("%s… (%d bytes)", text[:most], len(text))
}

// Few names the first few of a list, and says how many more there are.
func Few[T any](list []T, name func(T) string) string {
	const most = 3
	var names []string
	for _, one := range list[:min(len(list), most)] {
		names = append(names, name(one))
	}
	text := strings.Join(names, ", ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// Value says what a reply of a master is: its type, its length, and at most [Most] bytes of it.
func Value(reply any) string {
	switch v := reply.(type) {
	case nil:
		return "nothing"
	case int64:
		return fmt.Sprintf("the number %d", v)
	case error:
		return "the error " + inQuotes(v.Error())
	case string:
		return fmt.Sprintf("a string of %d bytes, %s", len(v), inQuotes(v))
	case []byte:
		return fmt.Sprintf("a string of %d bytes, %s", len(v), inQuotes(string(v[:min(len(v), Most+tail+1)])))
	case []any:
		text := fmt.Sprintf("a list of %d", len(v))
		if len(v) > 0 {
			if inner, nested := v[0].([]any); nested {
				return fmt.Sprintf("%s, the first a list of %d", text, len(inner))
			}
			return text + ", the first " + Value(v[0])
		}
		return text
	}
	return fmt.Sprintf("a %T", reply)
}

// inQuotes returns the beginning of text, in quotes.
func inQuotes(text string) string {
	if len(text) > Most {
		return `"` + Text(text[:Most]) + `…"`
	}
	return `"` + Text(text) + `"`
}
