package script

import (
	"fmt"
	"strings"
	"testing"
)

// FuzzHandOff: no message breaks the decoder, and what it lets pass is what queue.lua writes.
func FuzzHandOff(f *testing.F) {
	for _, message := range []string{"a:r1 1 2 k", "a:r1 1 2 k with spaces", "a:r1 0 0 k", "", " 1 2 k", "a:r1 1 2 ", "a:r1 01 2 k", "a:r1 +1 2 k", "a:r1 18446744073709551616 2 k"} {
		f.Add(message)
	}
	f.Fuzz(func(t *testing.T, message string) {
		p, ok := DecodeHandOff(message)
		if !ok {
			return
		}
		if p.Owner == "" || strings.Contains(p.Owner, " ") || p.Key == "" || p.Token < 0 {
			t.Errorf("DecodeHandOff(%q) = %+v", message, p)
		}
		again, ok := DecodeHandOff(fmt.Sprintf("%s %d %d %s", p.Owner, p.Round, p.Token, p.Key))
		if !ok || again != p {
			t.Errorf("DecodeHandOff of what %q says = %+v, %v, want %+v", message, again, ok, p)
		}
	})
}
