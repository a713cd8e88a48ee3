package node

import "testing"

func TestUndoneBy(t *testing.T) {
	acquire := NewOwner("k", "me:1").Acquire(lease, 1)
	renew := Renew(lease, []Renewal{{Owner: NewOwner("a", "me:1")}, {Owner: NewOwner("b", "me:2")}})
	for _, tt := range []struct {
		name       string
		cmd, later *Command
		want       bool
	}{
		{"acquire, release", acquire, NewOwner("k", "me:1").Release(1, 0), true},
		{"acquire, release of another owner", acquire, NewOwner("k", "me:10").Release(1, 0), false},
		{"acquire, acquire", acquire, acquire, false},
		{"acquire, renew", acquire, renew, false},
		{"acquire, force", acquire, Force("k", 1), false},
		{"renew, release", renew, NewOwner("b", "me:2").Release(1, 0), true},
		{"renew, release of another owner", renew, NewOwner("b", "me:3").Release(1, 0), false},
		{"inspect, release", Inspect("k"), NewOwner("k", "me:1").Release(1, 0), false},
		{"ping, release", ping, NewOwner("k", "me:1").Release(1, 0), false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.cmd.undoneBy(tt.later); got != tt.want {
				t.Errorf("undoneBy: got %v, want %v", got, tt.want)
			}
		})
	}
}

// A release that is sent twice is answered twice: what the first one found is what counts.
func TestReleaseIsNotUndone(t *testing.T) {
	me := NewOwner("k", "me:1")
	if release := me.Release(1, 0); release.undoneBy(me.Release(1, 0)) {
		t.Error("a release is undone by another one of the same owner")
	}
	if leave := me.Leave(2); !leave.undoneBy(me.Leave(1)) {
		t.Error("a Leave is not undone by a later one: its count would come back")
	}
}
