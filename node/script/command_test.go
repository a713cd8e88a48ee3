package script

import (
	"fmt"
	"testing"
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
