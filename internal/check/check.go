// Package check has what tests of several packages need: what they want, in one line each, and what they listen with.
package check

import (
	"fmt"
	"testing"
)

// OK ends the test if err is not nil. what, a format and its arguments, says what it is the error of.
func OK(t testing.TB, err error, what ...any) {
	if err == nil {
		return
	}
	t.Helper()
	if len(what) == 0 {
		t.Fatal(err)
	}
	t.Fatalf("%s: %v", fmt.Sprintf(what[0].(string), what[1:]...), err)
}

// Equal wants got to be want, and says what it is if not.
func Equal[T comparable](t testing.TB, got, want T, what string, args ...any) {
	if got != want {
		t.Helper()
		t.Errorf("%s: got %s, want %s", fmt.Sprintf(what, args...), shown(got), shown(want))
	}
}

// shown quotes a text.
func shown(v any) string {
	if text, ok := v.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprint(v)
}
