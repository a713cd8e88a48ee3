package script

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/check"
)

// TestLookTakesAListOnly: what is no list of slots does not say that all of them are free, nor do more wait than there can
// be.
func TestLookTakesAListOnly(t *testing.T) {
	slot := func(queue int64) any { return []any{int64(1), int64(-2), queue} }
	for _, tt := range []struct {
		reply any
		want  Outcome
	}{
		{[]any{}, Done},
		{slot(1 << 24), Done},
		{slot(1<<24 + 1), Failed},
		{slot(math.MaxInt64), Failed},
		{int64(1), Failed},
		{"OK", Failed},
		{nil, Failed},
	} {
		check.Equal(t, Look("k", 2).Decode(tt.reply).Outcome, tt.want, "what %v means", tt.reply)
	}
}

// TestUnexpectedReplies: whatever a master answers, its type, its length and its beginning are told, and no more; and
// so it is with its errors.
func TestUnexpectedReplies(t *testing.T) {
	million := []byte(strings.Repeat("x", 1e6))
	replies := []any{
		million, string(million), make([]any, 1e6),
		[]any{million},
		[]any{int64(1), million},
		[]any{int64(1), million, int64(1)},
		[]any{[]any{million}},
		redis.Error("ERR " + strings.Repeat("x", 60_000)), redis.Error("NOTLOCK " + strings.Repeat("x", 60_000)), int64(-5), nil, "OK",
	}
	o := NewOwner("k", "me:1")
	commands := []*Command{
		o.Acquire(time.Second, 1), o.Enter(time.Second, 2), o.Raise(time.Second, 1), Renew(time.Second, []Renewal{{Owner: o}}),
		Inspect("k"), Look("k", 8),
	}
	for _, cmd := range commands {
		for _, reply := range replies {
			a := cmd.Decode(reply)
			var text strings.Builder
			for _, err := range []error{a.Why(), a.Errors[0]} {
				if err != nil {
					text.WriteString(err.Error())
				}
			}
			if len(text.String()) > 800 || strings.Contains(text.String(), "0000000") {
				t.Errorf("verb %d, of %T: %d bytes are said: %.900s", cmd.verb, reply, len(text.String()), text.String())
			}
		}
	}
}
