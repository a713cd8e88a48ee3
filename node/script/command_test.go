package script

import (
	"fmt"
	"testing"

	"github.com/gomodule/redigo/redis"
)

func TestWithout(t *testing.T) {
	acquire := NewOwner("k", id("me:1")).Acquire(lease, 1)
	renew := Renew(lease, []Renewal{{Owner: NewOwner("a", id("me:1"))}, {Owner: NewOwner("b", id("me:2"))}})
	release := NewOwner("k", id("me:1")).Release(1, 0)
	releaseTo := NewOwner("k", id("me:1")).ReleaseTo(1, 0, NewOwner("k", id("me:2")), QueueEntry{Round: 1})
	const all, some, none = "all", "some", "none"
	for _, tt := range []struct {
		name, released string
		cmd            *Command
		left           string
	}{
		{"acquire", id("me:1"), acquire, none},
		{"acquire of another owner", id("me:10"), acquire, all},
		{"enter", id("me:1"), NewOwner("k", id("me:1")).Enter(lease, 2), none},
		{"leave: its count would come back", id("me:1"), NewOwner("k", id("me:1")).Leave(2), none},
		{"renew", id("me:2"), renew, some},
		{"renew of other owners", id("me:3"), renew, all},
		{"release: each is to say what it found", id("me:1"), release, all},
		{"release to one who has given up", id("me:2"), releaseTo, some},
		{"release to one who waits", id("me:1"), releaseTo, all},
		{"inspect", id("me:1"), Inspect("k"), all},
		{"force", id("me:1"), Force("k", 1), all},
	} {
		t.Run(tt.name, func(t *testing.T) {
			left := some
			switch tt.cmd.Without(func(owner string) bool { return owner == tt.released }) {
			case tt.cmd:
				left = all
			case nil:
				left = none
			}
			if left != tt.left {
				t.Errorf("without %s: %s is left, want %s", tt.released, left, tt.left)
			}
		})
	}
}

// TestRepeat: what is sent again is what was sent, but for the next owner.
func TestRepeat(t *testing.T) {
	me := NewOwner("{k}", "me:1")
	for _, tt := range []struct {
		name      string
		cmd, want *Command
	}{
		{"release", me.Release(17, 23), me.Release(17, 23)},
		{"yield", me.Yield(23), me.Yield(23)},
		{"leave", me.Leave(3), me.Leave(3)},
		{"release to the next", me.ReleaseTo(17, 23, NewOwner("{k}", "me:2"), QueueEntry{Round: 1, Since: 24}), me.Release(17, 23)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.cmd.Repeat().Command(); fmt.Sprintf("%#v", *got) != fmt.Sprintf("%#v", *tt.want) {
				t.Errorf("sent again: got %+v, want %+v", *got, *tt.want)
			}
		})
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

// TestTree: the seeds of FuzzDecode are the replies that they are meant to be.
func TestTree(t *testing.T) {
	for _, seed := range replies {
		reply, rest := tree(seed.data, 0)
		if len(rest) > 0 {
			t.Errorf("tree(%q): got %v and a rest of %q", seed.data, reply, rest)
		}
		if a, err := seed.script.decode(reply); err != nil || a.Outcome != seed.want {
			t.Errorf("decode %v: got %v (%v), want %v", reply, a.Outcome, err, seed.want)
		}
	}
}

// replies are what the scripts answer, as bytes for tree.
var replies = []struct {
	script *script
	data   []byte
	want   Outcome
}{
	{acquireScript, []byte{6, 50}, Done},
	{acquireScript, []byte{0}, Done},
	{acquireScript, []byte{4 + 6*2, 6, 9, 1 + 6*2, 'm', 'e'}, Refused},
	{enterScript, []byte{6, 1}, Done},
	{enterScript, []byte{0}, Refused},
	{enterScript, []byte{4 + 6*2, 6, 9, 1 + 6*2, 'm', 'e'}, Refused},
	{raiseScript, []byte{0}, Done},
	{raiseScript, []byte{6, 50}, Refused},
	{raiseScript, []byte{6 * 8, 255, 255, 255, 255, 255, 255, 255, 255}, Refused},
	{renewScript, []byte{4 + 6*4, 6, 1, 6, 2, 0, 6 * 8, 255, 255, 255, 255, 255, 255, 255, 255}, Done},
	{renewScript, []byte{4 + 6*2, 6, 1, 3}, Done},
	{releaseScript, []byte{6, 1}, Done},
	{inspectScript, []byte{4 + 6*2, 6, 2, 1 + 6, '7'}, Done},
	{inspectScript, []byte{4 + 6*4, 6, 9, 1 + 6, '7', 1 + 6*2, 'm', 'e', 1 + 6, '2'}, Done},
}

// FuzzDecode: no reply breaks a decoder, and what it lets pass makes sense.
func FuzzDecode(f *testing.F) {
	for _, seed := range replies {
		f.Add(seed.data)
	}
	f.Add([]byte{4 + 6, 6 * 2, 1, 1}) // 257 is no Renewed, though its last byte is
	f.Add([]byte{4 + 6*2, 6 * 8, 127, 255, 255, 255, 255, 255, 255, 255, 1 + 6, 'm'})
	f.Fuzz(func(t *testing.T, data []byte) {
		reply, _ := tree(data, 0)
		for _, s := range []*script{acquireScript, enterScript, raiseScript, renewScript, releaseScript, inspectScript} {
			a, err := s.decode(reply)
			if err != nil {
				continue
			}
			if a.Outcome != Done && a.Outcome != Refused {
				t.Errorf("decode %v: got outcome %v, want Done or Refused", reply, a.Outcome)
			}
			if a.Left < 0 {
				t.Errorf("decode %v: got %v left, want none below zero", reply, a.Left)
			}
			if s == acquireScript && a.Outcome == Done && a.Token < 0 {
				t.Errorf("decode %v: got token %d, want none below zero", reply, a.Token)
			}
			for i, r := range a.Renewed {
				if r == NotLock {
					if a.NotLock[i] == nil {
						t.Errorf("decode %v: got no reason why %d is no lock", reply, i)
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

// The keys of two names are never the same, whatever braces they have.
func TestKeysOfTwoNamesDiffer(t *testing.T) {
	names := []string{"a", "{a}", "{a}:", "{{a}}", "a}", "{a", "{a}}", "a:", "a}:", "{", "}", "{}", "{}:", "x{a}", "{a}x"}
	whose := make(map[string]string)
	for _, name := range names {
		k := keysOf(name)
		if k.fence != fenceKey(name) {
			t.Errorf("counter of %q: %q and %q", name, k.fence, fenceKey(name))
		}
		for _, key := range []string{k.fence, k.queue, k.turn} {
			if other, ok := whose[key]; ok {
				t.Errorf("%q is a key of %q and of %q", key, other, name)
			}
			whose[key] = name
		}
	}
}

func TestMayHold(t *testing.T) {
	for outcome, want := range map[Outcome]bool{Unsent: false, Unknown: true, Failed: true, Refused: false, Done: true} {
		if got := outcome.MayHold(); got != want {
			t.Errorf("%v.MayHold: got %v, want %v", outcome, got, want)
		}
	}
}
