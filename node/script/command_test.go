package script

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"pgregory.net/rapid"

	"example.com/redlock/internal/check"
)

// TestAgain: what is sent again is what was sent, but for the next owner.
func TestAgain(t *testing.T) {
	next, entry := NewOwner("k", "me:2"), QueueEntry{Round: 1, Since: 24}
	for _, o := range []*Owner{NewOwner("k", "me:1"), NewReader("k", "me:1")} {
		for _, since := range []int64{0, 23} {
			for _, release := range []func() *Command{
				func() *Command { return o.Release(17, since) }, func() *Command { return o.Yield(since) },
			} {
				got, want := release().Entering(next, entry).Again(), release()
				check.That(t, want.Again() == want && slices.Equal(slices.Collect(got.Owners()), []string{"me:1"}), "sent again: %s, of %q", sent(got), slices.Collect(got.Owners()))
				check.Equal(t, strings.TrimRight(sent(got), " ]"), strings.TrimRight(sent(want), " ]"), "sent again") // but for an empty word
			}
		}
	}
}

// TestWords: the words of a command, in its own form or in that for a guarded master.
func TestWords(t *testing.T) {
	a := NewOwner("a", "me:1")
	renew := Renew(lease, []Renewal{{Owner: a, Count: 1, Token: 7}, {Owner: NewOwner("b", "me:2"), Count: 2, Token: 8}})
	entry := QueueEntry{Round: 1, Since: 10, Lease: short, Proposal: 5}
	for _, tt := range []struct {
		cmd     *Command
		guarded bool
		want    string
	}{
		{a.Acquire(lease, 9), false, "1 a me:1 30000 9"},
		{a.Register(entry), false, "1 a me:1  5 1 400 -5"},
		{a.Release(5, 10), true, "1 a me:1  waited"},
		{a.Release(5, 0).Entering(NewReader("a", "me:2"), entry), false, "1 a me:1 5  me:2 5 1 400 -5 shared"},
		{Force("a", 9), true, "1 a "},
		{renew, false, "0 30000 heal a me:1 7 1 b me:2 8 2"},
		{renew, true, "0 30000  a me:1 7 1 b me:2 8 2"},
		{Look("a", 8), false, "1 redlock_slot:{a}: 8"},
		{Look("{a}", 8), false, "1 redlock_slot:{a}:: 8"},
		{a.Enter(lease, 2), false, "1 a me:1 30000 2"},
		{NewReader("a", "me:1").Raise(lease, 2), false, "1 a me:1 30000 2 shared"},
	} {
		words := tt.cmd.Words([]any{"before"}, tt.guarded)
		check.That(t, words[0] == "before" && words[1] == "EVALSHA" && words[2] == tt.cmd.script().sha, "%s: begins with %v", tt.want, words[:3])
		for i, word := range words {
			if text, ok := word.([]byte); ok {
				words[i] = string(text)
			}
		}
		check.Equal(t, strings.TrimSuffix(fmt.Sprintln(words[3:]...), "\n"), tt.want, "words")
	}
}

// replies are answers of scripts.
var replies = []any{
	int64(0), int64(1), int64(-1), redis.Error("ERR no"),
	[]any{int64(1), int64(50)},
	[]any{int64(0), int64(50)},
	[]any{int64(0), int64(0), int64(9), []byte("me")},            // taken
	[]any{int64(0), int64(0), int64(9), []byte("me"), int64(3)},  // and in the queue
	[]any{int64(1), int64(2), int64(0), int64(-1)},               // of renewals
	[]any{int64(1), redis.Error("ERR no"), nil, int64(257)},      // 257 is no Renewed, though its last byte is
	[]any{int64(1), redis.Error("NOTLOCK string"), "", int64(0)}, // with errors
	[]any{int64(0), int64(51), int64(3)},                         // a slot
	[]any{int64(0), int64(-2), int64(3), int64(1), int64(-1), int64(0)},
	[]any{int64(1), int64(7), int64(9), []byte("me"), int64(2), []any{}, []any{[]byte("my"), int64(0)}},
	[]any{int64(1), int64(7), int64(9), []byte("sh"), int64(0), []any{[]byte("me"), int64(9)}, []any{}},
}

// spoil puts something else in the place of a reply, or of a part of it.
func spoil(t *rapid.T, reply any) any {
	if list, ok := reply.([]any); ok && len(list) > 0 && rapid.Bool().Draw(t, "inside") {
		list, i := slices.Clone(list), rapid.IntRange(0, len(list)-1).Draw(t, "at")
		list[i] = spoil(t, list[i])
		return list
	}
	return rapid.OneOf(
		rapid.SampledFrom(replies), rapid.SampledFrom([]any{nil, "OK", []any{}, []byte("-7"), int64(math.MinInt64)}),
		rapid.Int64().AsAny(), rapid.SliceOfN(rapid.Byte(), 0, 20).AsAny(),
	).Draw(t, "another")
}

// TestDecode: no reply breaks a decoder, and what it lets pass makes sense.
func TestDecode(t *testing.T) { rapid.Check(t, decodes) }

// FuzzDecode is TestDecode, guided by what its replies reach.
func FuzzDecode(f *testing.F) { f.Fuzz(rapid.MakeFuzz(decodes)) }

func decodes(t *rapid.T) {
	reply := rapid.SampledFrom(replies).Draw(t, "reply")
	for range rapid.IntRange(0, 3).Draw(t, "spoilt") {
		reply = spoil(t, reply)
	}
	me := NewOwner("k", id("me:1"))
	renew := Renew(lease, []Renewal{{Owner: me}, {Owner: me}, {Owner: me}, {Owner: me}})
	for _, cmd := range []*Command{
		me.Acquire(lease, 50), me.Enter(lease, 2), me.Raise(lease, 50), renew, me.Release(50, 0), Inspect("k"),
		Look("k", 2),
	} {
		a := cmd.Decode(reply)
		if a.Outcome != Done && a.Outcome != Refused && (a.Outcome != Failed || a.Err == nil) {
			t.Errorf("decode %v: got outcome %v (%v), want Done, Refused or why it Failed", reply, a.Outcome, a.Err)
		}
		lefts := []time.Duration{a.Left}
		for i, s := range a.Slots {
			lefts = append(lefts, s.Left)
			if s.Slot < i || s.Slot > 1 || s.Queue < 0 {
				t.Errorf("decode %v: got %+v of two slots", reply, a.Slots)
			}
		}
		if slices.Min(lefts) < 0 {
			t.Errorf("decode %v: got %v left, want none below zero", reply, lefts)
		}
		if cmd.verb == acquiring && a.Outcome == Done && a.Token < 0 {
			t.Errorf("decode %v: got token %d, want none below zero", reply, a.Token)
		}
		if cmd == renew && a.Outcome == Done && len(a.Renewed) != 4 {
			t.Errorf("decode %v: got %d renewals of 4", reply, len(a.Renewed))
		}
		for i, r := range a.Renewed {
			said := reply.([]any)[i]
			refusal, _ := said.(redis.Error)
			if failed := r == NotLock || r == Errored; failed != (a.Errors[i] != nil) || !failed && said != int64(r) ||
				(r == NotLock) != strings.HasPrefix(string(refusal), "NOTLOCK") {
				t.Errorf("decode %v: got %d at %d (%v)", reply, r, i, a.Errors[i])
			}
		}
	}
}

// TestNoDecoderTakesWhatIsNoToken: whatever a master says.
func TestNoDecoderTakesWhatIsNoToken(t *testing.T) {
	me := NewOwner("k", id("me:1"))
	for _, token := range []int64{MaxToken, MaxToken + 1, math.MaxInt64} {
		for name, tt := range map[string]struct {
			cmd   *Command
			reply any
		}{
			"acquire":  {me.Acquire(lease, 5), []any{int64(1), token}},
			"proposal": {me.Acquire(lease, token), int64(1)},
			"reader":   {NewReader("k", id("me:r1")).Acquire(lease, 5), []any{int64(1), token}},
			"raise":    {me.Raise(lease, 5), []any{int64(0), token}},
			"inspect":  {Inspect("k"), []any{int64(1), token, int64(-2), []byte{}, int64(0), []any{}, []any{}}},
		} {
			got := tt.cmd.Decode(tt.reply)
			if failed := got.Outcome == Failed; failed != (token > MaxToken) || !failed && got.Token != token {
				t.Errorf("%s: %d is decoded as %+v", name, token, got)
			}
		}
		_, ok := Prefix("").DecodeHandOff(fmt.Sprintf(id("me:r1 1 %d k"), token))
		check.Equal(t, ok, token <= MaxToken, "a hand-off with %d is taken", token)
	}
}

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
			check.That(t, len(text.String()) <= 800 && !strings.Contains(text.String(), "0000000"), "verb %d, of %T: %d bytes are said: %.900s", cmd.verb, reply, len(text.String()), text.String())
		}
	}
}
