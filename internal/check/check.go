// Package check has what tests of several packages need: what they want, in one line each, and what they listen with.
package check

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
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

// That wants something to be true, and says what there is instead if not.
func That(t testing.TB, ok bool, instead string, args ...any) {
	if !ok {
		t.Helper()
		t.Errorf(instead, args...)
	}
}

// Equal wants got to be want, and says what it is if not.
func Equal[T comparable](t testing.TB, got, want T, what string, args ...any) {
	if got != want {
		t.Helper()
		t.Errorf("%s: got %s, want %s", fmt.Sprintf(what, args...), shown(got), shown(want))
	}
}

// AtMost wants got to be no more than most, and says what it is if not.
func AtMost[T cmp.Ordered](t testing.TB, got, most T, what string, args ...any) {
	if got > most {
		t.Helper()
		t.Errorf("%s: got %v, want at most %v", fmt.Sprintf(what, args...), got, most)
	}
}

// Between wants got to be from least to most, and says what it is if not.
func Between[T cmp.Ordered](t testing.TB, got, least, most T, what string, args ...any) {
	if got < least || got > most {
		t.Helper()
		t.Errorf("%s: got %v, want %v to %v", fmt.Sprintf(what, args...), got, least, most)
	}
}

// AtLeast wants got to be no less than least, and says what it is if not.
func AtLeast[T cmp.Ordered](t testing.TB, got, least T, what string, args ...any) {
	if got < least {
		t.Helper()
		t.Errorf("%s: got %v, want at least %v", fmt.Sprintf(what, args...), got, least)
	}
}

// Eventually waits, in real time, until so returns true. Its limit is far longer than anything takes, so only what never
// happens reaches it.
func Eventually(t testing.TB, what string, so func() bool) {
	t.Helper()
	const limit = time.Minute
	for deadline := time.Now().Add(limit); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within %v: %s", limit, what)
		}
	}
}

// shown quotes a text.
func shown(v any) string {
	if text, ok := v.(string); ok {
		return fmt.Sprintf("%q", text)
	}
	return fmt.Sprint(v)
}

// Says wants err to be an error that says text. what is the call that returned it.
func Says(t testing.TB, err error, text, what string, args ...any) {
	if err == nil || !strings.Contains(err.Error(), text) {
		t.Helper()
		t.Errorf("%s = %v, want an error that says %q", fmt.Sprintf(what, args...), err, text)
	}
}

// Err wants err to match each of want, or to be nil if there is none. call is what returned it.
func Err(t testing.TB, call string, err error, want ...error) {
	t.Helper()
	if len(want) == 0 && err != nil {
		t.Errorf("%s = %v, want nil", call, err)
	}
	for _, w := range want {
		if !errors.Is(err, w) {
			t.Errorf("%s = %v, want an error that matches %q", call, err, w)
		}
	}
}

// NotErr wants err to match none of those.
func NotErr(t testing.TB, call string, err error, those ...error) {
	t.Helper()
	for _, e := range those {
		if errors.Is(err, e) {
			t.Errorf("%s = %v, want an error that does not match %q", call, err, e)
		}
	}
}

// File returns the text of a file.
func File(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	OK(t, err)
	return string(text)
}

// token is a fencing token: microseconds of the wall clock.
var token = regexp.MustCompile(`\b\d{15,16}\b`)

// Shows wants a page to have text in it, whatever fencing tokens are in either.
func Shows(t testing.TB, page, text string) {
	t.Helper()
	text = token.ReplaceAllString(text, "TOKEN")
	if !strings.Contains(token.ReplaceAllString(File(t, page), "TOKEN"), text) {
		t.Errorf("%s does not show\n%s", page, text)
	}
}

// Owner writes an owner, and what may stand behind it, in full: its client is a UUID.
func Owner(owner string) string {
	name, rest, _ := strings.Cut(owner, ":")
	return Client(name) + ":" + rest
}

// Client returns a UUID that has a client's name in it.
func Client(name string) string {
	digits := fmt.Sprintf("%x", name)
	digits = strings.Repeat("0", 32-len(digits)) + digits
	return strings.Join([]string{digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]}, "-")
}
