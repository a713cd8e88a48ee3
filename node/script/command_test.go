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
)

// A command that is sent again behind a later one does not undo what that did.
func TestBehind(t *testing.T) {
	me, you, reader := NewOwner("k", id("me:1")), NewOwner("k", id("me:2")), NewReader("k", id("me:1"))
	other := NewOwner("a", id("me:3"))
	permit, next := NewPermit("k", id("me:1"), 2, 0), NewPermit("k", id("me:2"), 2, 0)
	renew := func(owners ...*Owner) *Command {
		var holds []Renewal
		for _, o := range owners {
			holds = append(holds, Renewal{Owner: o, Count: 1, Token: 1})
		}
		return Renew(lease, holds)
	}
	releases := me.Release(1, 0)
	for _, tt := range []struct {
		name             string
		cmd, later, left *Command
	}{
		{"acquire, of what was released", me.Acquire(lease, 50), releases, nil},
		{"acquire, of another owner", you.Acquire(lease, 50), releases, you.Acquire(lease, 50)},
		{"acquire, of a permit", permit.Acquire(lease, 50), permit.Release(1, 0), nil},
		{"enter, of what was released", me.Enter(lease, 2), releases, nil},
		{"leave: its count would come back", me.Leave(2), releases, nil},
		{"enter, which was left again", me.Enter(lease, 3), me.Leave(2), me.Enter(lease, 2)},
		{"leave, which was entered again", me.Leave(2), me.Enter(lease, 3), me.Leave(3)},
		{"enter, of a reader that left", me.Enter(lease, 3), reader.Leave(2), me.Enter(lease, 2)},
		{"enter, of what was renewed", me.Enter(lease, 3), renew(me), me.Enter(lease, 3)},
		{"renew, of some that were released", renew(you, me, other), releases, renew(you, other)},
		{"renew, of what was released", renew(me), releases, nil},
		{"renew, of what was left", renew(me), me.Leave(2), renew(me)},
		{"renew, of a permit", renew(permit, next), permit.Release(1, 0), renew(next)},
		{"release: each is to say what it found", releases, releases, releases},
		{"release to one who has given up", you.ReleaseTo(1, 0, me, QueueEntry{}), releases, you.Release(1, 0)},
		{"yield to one who has given up", you.YieldTo(0, me, QueueEntry{}), releases, you.Yield(0)},
		{"a permit that gives way, to one who has given up", next.ReleaseTo(1, 5, permit, QueueEntry{Since: 5}), permit.Release(1, 0), next.Release(1, 5)},
		{"inspect", Inspect("k"), releases, Inspect("k")},
		{"acquire, behind a force", me.Acquire(lease, 50), Force("k", 1), me.Acquire(lease, 50)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.cmd.Behind(tt.later); sent(got) != sent(tt.left) {
				t.Errorf("left: %s, want %s", sent(got), sent(tt.left))
			}
		})
	}
}

// TestRepeat: what is sent again is what was sent, but for the next owner.
func TestRepeat(t *testing.T) {
	o, p, next := NewOwner("{k}", "me:1"), NewPermit("{k}", "me:1", 5, 3), NewPermit("{k}", "me:2", 5, 3)
	reader := NewReader("{k}", "me:1")
	for _, tt := range []struct {
		name      string
		cmd, want *Command
	}{
		{"release", o.Release(17, 23), o.Release(17, 23)},
		{"yield", o.Yield(23), o.Yield(23)},
		{"leave", o.Leave(3), o.Leave(3)},
		{"release to the next", o.ReleaseTo(17, 23, NewOwner("{k}", "me:2"), QueueEntry{Round: 1, Since: 24}), o.Release(17, 23)},
		{"yield to the next", o.YieldTo(23, NewOwner("{k}", "me:2"), QueueEntry{Round: 1, Since: 24}), o.Yield(23)},
		{"release of a reader", reader.Release(17, 23), reader.Release(17, 23)},
		{"release of a permit", p.Release(17, 0), p.Release(17, 0)},
		{"release of a permit to the next", p.ReleaseTo(17, 23, next, QueueEntry{Since: 24}), p.Release(17, 23)},
		{"yield of a permit that gives way", p.YieldTo(23, next, QueueEntry{Since: 23}), p.Yield(23)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.cmd.Repeat().Command(); fmt.Sprintf("%#v", *got) != fmt.Sprintf("%#v", *tt.want) {
				t.Errorf("sent again: got %+v, want %+v", *got, *tt.want)
			}
		})
	}
}

// TestWords: the words of a command, in its own form or in that for a guarded master.
func TestWords(t *testing.T) {
	a, p := NewOwner("a", "me:1"), NewPermit("a", "me:3", 5, 7)
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
		{a.ReleaseTo(5, 0, NewReader("a", "me:2"), entry), false, "1 a me:1 5  me:2 5 1 400 -5 shared"},
		{Force("a", 9), true, "1 a "},
		{renew, false, "0 30000 heal a me:1 7 1 b me:2 8 2"},
		{renew, true, "0 30000  a me:1 7 1 b me:2 8 2"},
		{Renew(lease, []Renewal{{Owner: p.InSlot(4), Token: 7}}), false, "0 30000 heal redlock_slots:{a} me:3 7 4"},
		{p.ReleaseTo(9, 10, NewPermit("a", "me:4", 5, 0), entry), false, "1 redlock_slots:{a} me:3 9 2 gives way me:4 5 5 0 1 400 -5"},
		{ForcePermits("{a}", 9), false, "1 redlock_slots:{a}: 9 "},
		{a.Enter(lease, 2), false, "1 a me:1 30000 2"},
		{NewReader("a", "me:1").Raise(lease, 2), false, "1 a me:1 30000 2 shared"},
	} {
		for _, withSource := range []bool{false, true} {
			script := tt.cmd.Script()
			name, text := "EVALSHA", script.sha
			if withSource {
				name, text = "EVAL", script.source
			}
			words := tt.cmd.Words([]any{"before"}, withSource, tt.guarded)
			if words[0] != "before" || words[1] != name || words[2] != text {
				t.Errorf("%s: begins with %v", tt.want, words[:2])
			}
			for i, word := range words {
				if text, ok := word.([]byte); ok {
					words[i] = string(text)
				}
			}
			if got := strings.TrimSuffix(fmt.Sprintln(words[3:]...), "\n"); got != tt.want {
				t.Errorf("words: got %q, want %q", got, tt.want)
			}
		}
	}
}

// replies are answers of scripts.
var replies = []any{
	int64(0), int64(50), int64(-1), redis.Error("ERR no"),
	[]any{int64(9), []byte("me")},                                // taken
	[]any{int64(9), []byte("me"), int64(3)},                      // and in the queue
	[]any{int64(1), int64(2), int64(0), int64(-1)},               // of renewals
	[]any{int64(1), redis.Error("ERR no"), nil, int64(257)},      // 257 is no Renewed, though its last byte is
	[]any{int64(1), redis.Error("NOTLOCK string"), "", int64(0)}, // with errors
	[]any{int64(0), int64(51)},                                   // a slot
	[]any{[]byte("7"), []any{int64(0), []byte("me"), int64(9), []byte("7")}, []any{[]byte("me"), []byte("2")}},
	[]any{int64(9), []byte("7"), []byte("me"), []byte("2"), []any{}, []any{[]byte("my"), []byte("")}},
	[]any{int64(9), []byte("7"), []byte("sh"), []byte("0"), []any{[]byte("me"), int64(9)}, []any{}},
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
	me, permit := NewOwner("k", id("me:1")), NewPermit("k", id("me:1"), 2, 0)
	renew := Renew(lease, []Renewal{{Owner: me}, {Owner: me}, {Owner: me}, {Owner: me}})
	for _, cmd := range []*Command{
		me.Acquire(lease, 50), me.Enter(lease, 2), me.Raise(lease, 50), renew, me.Release(50, 0), Inspect("k"),
		permit.Acquire(lease, 50), InspectPermits("k"),
	} {
		a := cmd.Decode(reply)
		if a.Outcome != Done && a.Outcome != Refused && (a.Outcome != Failed || a.Err == nil) {
			t.Errorf("decode %v: got outcome %v (%v), want Done, Refused or why it Failed", reply, a.Outcome, a.Err)
		}
		lefts := []time.Duration{a.Left}
		if a.Permits != nil {
			for _, s := range a.Permits.Slots {
				lefts = append(lefts, s.Left)
			}
		}
		if slices.Min(lefts) < 0 {
			t.Errorf("decode %v: got %v left, want none below zero", reply, lefts)
		}
		if cmd.verb == acquiring && a.Outcome == Done && (a.Token < 0 || a.Slot < 0) {
			t.Errorf("decode %v: got token %d and slot %d, want none below zero", reply, a.Token, a.Slot)
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
	me, permit := NewOwner("k", id("me:1")), NewPermit("k", id("me:r1"), 2, 0)
	for _, token := range []int64{MaxToken, MaxToken + 1, math.MaxInt64} {
		text := fmt.Append(nil, token)
		for name, tt := range map[string]struct {
			cmd   *Command
			reply any
		}{
			"acquire":         {me.Acquire(lease, 5), token},
			"proposal":        {me.Acquire(lease, token), int64(0)},
			"reader":          {NewReader("k", id("me:r1")).Acquire(lease, 5), token},
			"raise":           {me.Raise(lease, 5), token},
			"inspect":         {Inspect("k"), []any{int64(-2), text, []byte{}, []byte("0"), []any{}, []any{}}},
			"permit":          {permit.Acquire(lease, 5), []any{int64(0), token}},
			"inspect permits": {InspectPermits("k"), []any{text, []any{}, []any{}}},
		} {
			got := tt.cmd.Decode(tt.reply)
			if failed := got.Outcome == Failed; failed != (token > MaxToken) || !failed && got.Token != token {
				t.Errorf("%s: %d is decoded as %+v", name, token, got)
			}
		}
		if _, ok := DecodeHandOff(fmt.Sprintf(id("me:r1 1 %d k"), token)); ok != (token <= MaxToken) {
			t.Errorf("a hand-off with %d is taken: %v", token, ok)
		}
	}
}

// The keys of two names are never the same, whatever braces they have.
func TestKeysOfTwoNamesDiffer(t *testing.T) {
	names := []string{"a", "{a}", "{a}:", "{{a}}", "a}", "{a", "{a}}", "a:", "a}:", "{", "}", "{}", "{}:", "x{a}", "{a}x"}
	whose := make(map[string]string)
	for _, name := range names {
		for _, prefix := range []string{fencePrefix, queuePrefix, slotsPrefix, slotQueuePrefix, slotFencePrefix} {
			key := belonging(prefix, name)
			if Reserved(key) == "" {
				t.Errorf("%q may be the name of another lock", key)
			}
			if other, ok := whose[key]; ok {
				t.Errorf("%q is a key of %q and of %q", key, other, name)
			}
			whose[key] = name
		}
	}
}
