package script

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"
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
		{a.Register(entry), false, "1 a me:1  5 10 400 1"},
		{a.Release(5, 10), true, "1 a me:1  waited"},
		{a.ReleaseTo(5, 0, NewReader("a", "me:2"), entry), false, "1 a me:1 5  me:2 5 shared 10 400 1"},
		{Force("a", 9), true, "1 a "},
		{renew, false, "0 30000 heal a me:1 7 1 b me:2 8 2"},
		{renew, true, "0 30000  a me:1 7 1 b me:2 8 2"},
		{Renew(lease, []Renewal{{Owner: p.InSlot(4), Token: 7}}), false, "0 30000 heal redlock_slots:{a} me:3 7 4"},
		{p.ReleaseTo(9, 10, NewPermit("a", "me:4", 5, 0), entry), false, "1 redlock_slots:{a} me:3 9 2 gives way me:4 5 5 0 10 400 1"},
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
			if got := strings.TrimSuffix(fmt.Sprintln(words[3:]...), "\n"); got != tt.want {
				t.Errorf("words: got %q, want %q", got, tt.want)
			}
		}
	}
}

// tree makes a reply of any shape that RESP has out of data, and returns what is left of
// it.
func tree(data []byte, depth int) (reply any, rest []byte) {
	if len(data) == 0 {
		return nil, nil
	}
	kind, size := data[0]%6, int(data[0]/6)
	data = data[1:]
	switch kind {
	case 0:
		var n int64
		for range min(size%9, len(data)) {
			n, data = n<<8|int64(data[0]), data[1:]
		}
		return n, data
	case 1:
		size = min(size, len(data))
		return data[:size:size], data[size:]
	case 2:
		size = min(size, len(data))
		return string(data[:size]), data[size:]
	case 3:
		return redis.Error("ERR no"), data
	case 4:
		if depth > 3 {
			return []any{}, data
		}
		list := make([]any, size%8)
		for i := range list {
			list[i], data = tree(data, depth+1)
		}
		return list, data
	}
	return nil, data
}

// replies are answers of scripts, as bytes for tree.
var replies = [][]byte{
	{0}, // no, or free
	{6, 50},
	{6 * 8, 255, 255, 255, 255, 255, 255, 255, 255}, // -1
	{3},                                      // an error
	{4 + 6*2, 6, 9, 1 + 6*2, 'm', 'e'},       // taken
	{4 + 6*3, 6, 9, 1 + 6*2, 'm', 'e', 6, 3}, // and in the queue
	{4 + 6*4, 6, 1, 6, 2, 0, 6 * 8, 255, 255, 255, 255, 255, 255, 255, 255}, // of renewals
	{4 + 6*4, 6, 1, 3, 3, 0}, // with errors
	{4 + 6*4, 6 * 2, 1, 1},   // 257 is no Renewed, though its last byte is
	{4 + 6*2, 6 * 8, 127, 255, 255, 255, 255, 255, 255, 255, 1 + 6, 'm'},
	{4 + 6*2, 0, 6, 51}, // a slot
	{4 + 6*3, 1 + 6, '7', 4 + 6*4, 0, 1 + 6*2, 'm', 'e', 6, 9, 1 + 6, '7', 4 + 6*2, 1 + 6*2, 'm', 'e', 1 + 6, '2'},
	{4 + 6*6, 6, 9, 1 + 6, '7', 1 + 6*2, 'm', 'e', 1 + 6, '2', 4, 4 + 6*2, 1 + 6*2, 'm', 'y', 1},
	{4 + 6*6, 6, 9, 1 + 6, '7', 1 + 6*2, 's', 'h', 1 + 6, '0', 4 + 6*2, 1 + 6*2, 'm', 'e', 6, 9, 4},
}

// FuzzDecode: no reply breaks a decoder, and what it lets pass makes sense.
func FuzzDecode(f *testing.F) {
	for _, data := range replies {
		f.Add(data)
	}
	me, permit := NewOwner("k", id("me:1")), NewPermit("k", id("me:1"), 2, 0)
	acquire, acquireSlot, inspectSlots := me.Acquire(lease, 50), permit.Acquire(lease, 50), InspectPermits("k")
	renew := Renew(lease, []Renewal{{Owner: me}, {Owner: me}, {Owner: me}, {Owner: me}})
	f.Fuzz(func(t *testing.T, data []byte) {
		reply, _ := tree(data, 0)
		for _, cmd := range []*Command{
			acquire, me.Enter(lease, 2), me.Raise(lease, 50), renew, me.Release(50, 0), Inspect("k"), acquireSlot, inspectSlots,
		} {
			a := cmd.Decode(reply)
			if a.Outcome != Done && a.Outcome != Refused && (a.Outcome != Failed || a.Err == nil) {
				t.Errorf("decode %v: got outcome %v (%v), want Done, Refused or why it Failed", reply, a.Outcome, a.Err)
			}
			if a.Left < 0 {
				t.Errorf("decode %v: got %v left, want none below zero", reply, a.Left)
			}
			if (cmd == acquire || cmd == acquireSlot) && a.Outcome == Done && (a.Token < 0 || a.Slot < 0) {
				t.Errorf("decode %v: got token %d and slot %d, want none below zero", reply, a.Token, a.Slot)
			}
			if cmd == inspectSlots && a.Outcome == Done {
				for _, s := range a.Permits.Slots {
					if s.Left < 0 {
						t.Errorf("decode %v: got %v left, want none below zero", reply, s.Left)
					}
				}
			}
			for i, r := range a.Renewed {
				if r == NotLock || r == Errored {
					if a.Errors[i] == nil {
						t.Errorf("decode %v: got no reason why %d is %d", reply, i, r)
					}
					continue
				}
				if said := reply.([]any)[i]; said != int64(r) {
					t.Errorf("decode %v: got %d at %d, want %v", reply, r, i, said)
				}
			}
		}
	})
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
