package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"example.com/redlock/internal/history"
)

func TestRegister(t *testing.T) {
	try(t, register, []sentence{
		{"in turn", `
			1.0 c1 call 1 read a
			1.1 c1 return 1 value=0
			1.2 c1 call 2 write a token=5 value=1
			1.3 c1 return 2
			1.4 c2 call 1 read a
			1.5 c2 return 1 value=1
			1.6 c2 call 2 write a token=6 base=1 value=2
			1.7 c2 return 2
			1.8 c1 call 3 write a token=5 value=2
			1.9 c1 return 3 err=stale
			2.0 c1 call 4 read a
			2.1 c1 return 4 value=2`, "", false},
		{"a late write was accepted", `
			> 1.0 c1 call 1 write a token=6 value=1
			> 1.1 c1 return 1
			> 1.2 c2 call 1 write a token=5 value=2
			> 1.3 c2 return 1
			  1.4 c1 call 2 read a
			  1.5 c1 return 2 value=2`, "c2 wrote 2 with token 5", false},
		{"at the same time", `
			1.0 c1 call 1 write a token=6 value=1
			1.1 c2 call 1 write a token=5 value=2
			1.2 c1 return 1
			1.3 c2 return 1
			1.4 c1 call 2 read a
			1.5 c1 return 2 value=1`, "", false},
		{"an old value", `
			> 1.0 c1 call 1 write a token=5 value=1
			> 1.1 c1 return 1
			> 1.2 c1 call 2 write a token=5 value=2
			> 1.3 c1 return 2
			  1.4 c1 call 3 write a token=5 value=3
			> 1.5 c2 call 1 read a
			> 1.6 c2 return 1 value=1
			  1.7 c1 return 3`, "c2 read 1", false},
		{"nobody's value", `
			  1.0 c1 call 1 write a token=5 value=1
			  1.1 c1 return 1
			> 1.2 c2 call 1 read a
			> 1.3 c2 return 1 value=7`, "c2 read 7", false},
		{"the value of a write that was refused", `
			  1.0 c1 call 1 write a token=5 value=1
			  1.1 c1 return 1
			  1.2 c2 call 1 write a token=4 value=2
			  1.3 c2 return 1 err=stale
			> 1.4 c2 call 2 read a
			> 1.5 c2 return 2 value=2`, "c2 read 2", false},
		{"refused without reason", `
			  1.0 c1 call 1 write a token=5 value=1
			  1.1 c1 return 1
			> 1.2 c1 call 2 write a token=5 value=2
			> 1.3 c1 return 2 err=stale`, "c1 was refused with token 5", false},
		{"a write without an answer was carried out", `
			1.0 c1 call 1 write a token=5 value=1
			1.2 c1 return 1 err=unreached
			1.2 c2 call 1 read a
			1.3 c2 return 1 value=0
			1.4 c2 call 2 read a
			1.5 c2 return 2 value=1
			1.6 c3 call 1 write a token=4 value=2
			1.7 c3 return 1 err=stale`, "", false},
		{"and was not", `
			1.0 c1 call 1 write a token=5 value=1
			1.2 c2 call 1 read a
			1.3 c2 return 1 value=0
			1.6 c3 call 1 write a token=6 value=2
			1.7 c3 return 1
			1.8 c2 call 2 read a
			1.9 c2 return 2 value=2`, "", false},
		{"but not after a larger token", `
			> 1.0 c1 call 1 write a token=5 value=1
			> 1.6 c3 call 1 write a token=6 value=2
			> 1.7 c3 return 1
			> 1.8 c2 call 1 read a
			> 1.9 c2 return 1 value=1`, "c2 read 1", false},
		{"of two names", `
			1.0 c1 call 1 write a token=5 value=1
			1.1 c1 return 1
			1.2 c2 call 1 write b token=4 value=2
			1.3 c2 return 1
			1.4 r  accepted write a token=5
			1.5 r  accepted write b token=4`, "", false},
		{"the register accepted a late write", `
			  1.0 c1 accepted write a token=4
			  1.1 c1 accepted write a token=6
			> 1.2 c1 accepted write a token=6
			> 1.3 c2 accepted write a token=5`, "token 5 was accepted after one with 6", false},
		{"the register refused a late write", `
			1.1 c1 accepted write a token=6
			1.2 c2 refused write a token=5
			1.3 c1 accepted write a token=6`, "", false},
		{"the register refused one in time", `
			> 1.1 c1 accepted write a token=6
			> 1.2 c1 refused write a token=6`, "token 6 was refused after one with 6", false},
		{"registers that look at no tokens", `
			1.1 c1 accepted plainwrite a token=6
			1.2 c1 accepted plainwrite a token=5`, "", false},
		{"what is right after a wrong answer", `
			  1.0 c1 call 1 write a token=5 value=1
			  1.1 c1 return 1
			> 1.2 c2 call 1 read a
			> 1.3 c2 return 1 value=7
			  1.4 c2 call 2 read a
			  1.5 c2 return 2 value=1`, "c2 read 7", false},
		{"what was under way before a wrong answer", `
			  1.0 c1 call 1 write a token=5 value=1
			  1.1 c2 call 1 read a
			  1.2 c2 return 1 value=1
			  1.5 c1 return 1
			  1.6 c1 call 2 write a token=5 value=2
			  1.7 c2 call 2 read a
			  1.8 c2 return 2 value=2
			  1.9 c1 return 2 err=unreached
			> 2.0 c2 call 3 read a
			> 2.1 c2 return 3 value=7`, "c2 read 7", false},
		{"one that is read before it has returned", `
			  1.0 c2 call 1 read a
			  1.1 c2 return 1 value=0
			  1.2 c2 call 2 read a
			  1.3 c2 return 2 value=0
			  1.4 c1 call 1 write a token=5 value=1
			  1.5 c2 call 3 read a
			  1.6 c2 return 3 value=1
			  1.7 c1 return 1
			> 2.0 c2 call 4 read a
			> 2.1 c2 return 4 value=7`, "c2 read 7", false},
		{"a read that failed", `
			1.0 c1 call 1 write a token=5 value=1
			1.1 c1 return 1
			1.2 c2 call 1 read a
			1.3 c2 return 1 err=unreached
			1.4 c2 call 2 read a`, "", false},
		{"the register refused the first one", `
			> 1.1 c1 refused write a token=6`, "token 6 was refused after one with 0", false},
	})
}

// TestRegisterGoesOn: after what is wrong, the rest is judged by what follows from it.
func TestRegisterGoesOn(t *testing.T) {
	for _, test := range []struct {
		name string
		story
		want   []string
		looked int
	}{
		{"a late write that is there before it has returned", `
			1.0 c1 call 1 write a token=6 value=1
			1.1 c1 return 1
			1.2 c2 call 1 write a token=5 value=2
			1.3 c1 call 2 read a
			1.4 c1 return 2 value=2
			1.9 c2 return 1
			2.0 c1 call 3 read a
			2.1 c1 return 3 value=7`, []string{"c1 read 2", "c2 wrote 2 with token 5", "c1 read 7"}, 4},
		{"late writes", `
			1.0 c1 accepted write a token=6
			1.1 c1 accepted write a token=5
			1.2 c1 accepted write a token=5`, []string{"token 5 was accepted after one with 6", "token 5 was accepted after one with 6"}, 3},
		{"refused for a token that was refused", `
			1.0 c1 refused write a token=7
			1.1 c1 accepted write a token=6`, []string{"token 7 was refused after one with 0"}, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, _ := test.read(t)
			r, err := newRecord(h)
			if err != nil {
				t.Fatal(err)
			}
			got := register(r)
			ok := len(got.Violations) == len(test.want) && got.Looked == test.looked
			for i := range min(len(got.Violations), len(test.want)) {
				ok = ok && strings.Contains(got.Violations[i].Text, test.want[i])
			}
			if !ok {
				t.Errorf("looked at %d, want %d; got\n%swant %q", got.Looked, test.looked, show(got.Violations), test.want)
			}
		})
	}
}

// TestRegisterGivesUp: what is left of a register with too many wrong answers has not passed.
func TestRegisterGivesUp(t *testing.T) {
	var lines strings.Builder
	for i := range maxPerWindow + 2 {
		at := 1 + float64(i)/10
		fmt.Fprintf(&lines, "%.3f c1 call %d read a\n%.3f c1 return %d value=7\n", at, i+1, at+.01, i+1)
	}
	h, _ := story(lines.String()).read(t)
	r, err := newRecord(h)
	if err != nil {
		t.Fatal(err)
	}
	got := register(r)
	if n := len(got.Violations); n != maxPerWindow+1 || !strings.Contains(got.Violations[n-1].Text, "gave up") {
		t.Errorf("got %d violations, want %d and that the judge gave up:\n%s", n, maxPerWindow, show(got.Violations))
	}
	if got.Looked != maxPerWindow+2 {
		t.Errorf("looked at %d, want %d", got.Looked, maxPerWindow+2)
	}
}

// TestBound: a write of which nobody knows the outcome ends once a larger token makes it harmless, since
// then it can be thought to come after that, and be refused.
func TestBound(t *testing.T) {
	for _, test := range []struct {
		name string
		story
		want string // when the write with value 9 ends; "": never
	}{
		{"nothing else", ``, ""},
		{"a larger token", `
			1.2 c2 call 1 write a token=6 value=1
			1.3 c2 return 1`, "1.3"},
		{"two larger tokens", `
			1.2 c2 call 1 write a token=6 value=1
			1.2 c3 call 1 write a token=7 value=1
			1.3 c3 return 1
			1.4 c2 return 1`, "1.3"},
		{"one that was under way when it began", `
			0.9 c2 call 1 write a token=6 value=1
			1.3 c2 return 1`, "1.3"},
		{"one that was over when it began", `
			0.8 c2 call 1 write a token=6 value=1
			0.9 c2 return 1`, ""},
		{"the same token", `
			1.2 c2 call 1 write a token=5 value=1
			1.3 c2 return 1`, ""},
		{"a smaller token", `
			1.2 c2 call 1 write a token=4 value=1
			1.3 c2 return 1`, ""},
		{"a larger token that was refused", `
			1.2 c2 call 1 write a token=6 value=1
			1.3 c2 return 1 err=stale`, ""},
		{"a larger token of which nobody knows, either", `
			1.2 c2 call 1 write a token=6 value=1
			1.3 c2 return 1 err=unreached`, ""},
		{"a larger token elsewhere", `
			1.2 c2 call 1 write b token=6 value=1
			1.3 c2 return 1`, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, _ := ("1.0 c1 call 1 write a token=5 value=9\n" + test.story).read(t)
			view, err := h.View()
			if err != nil {
				t.Fatal(err)
			}
			want := history.Never
			if test.want != "" {
				want = seconds(t, test.want)
			}
			for _, a := range accessesOf(view)["a"] {
				switch {
				case a.call.Value == 9 && (a.ends != want || a.outcome != unknown):
					t.Errorf("it ends at %v, outcome %d; want %v, %d", a.ends, a.outcome, want, unknown)
				case a.call.Value != 9 && a.outcome != unknown && a.ends != a.call.Returned:
					t.Errorf("another ends at %v, want %v, when it returned", a.ends, a.call.Returned)
				}
			}
		})
	}
}

// TestPartOfARegister: where a segment begins, nobody knows what the register holds.
func TestPartOfARegister(t *testing.T) {
	for _, test := range []struct {
		name string
		story
		empty bool
		want  porcupine.CheckResult
	}{
		{"any value", `
			1.0 c1 call 1 read a
			1.1 c1 return 1 value=7`, false, porcupine.Ok},
		{"but only one", `
			1.0 c1 call 1 read a
			1.1 c1 return 1 value=7
			1.2 c1 call 2 read a
			1.3 c1 return 2 value=8`, false, porcupine.Illegal},
		{"any refusal", `
			1.0 c1 call 1 write a token=5 value=1
			1.1 c1 return 1 err=stale`, false, porcupine.Ok},
		{"none of an empty register", `
			1.0 c1 call 1 write a token=5 value=1
			1.1 c1 return 1 err=stale`, true, porcupine.Illegal},
		{"a token that is known", `
			1.0 c1 call 1 write a token=5 value=1
			1.1 c1 return 1
			1.2 c1 call 2 write a token=5 value=1
			1.3 c1 return 2 err=stale`, false, porcupine.Illegal},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, _ := test.read(t)
			view, err := h.View()
			if err != nil {
				t.Fatal(err)
			}
			if got := consistent(accessesOf(view)["a"], test.empty); got != test.want {
				t.Errorf("consistent = %v, want %v", got, test.want)
			}
		})
	}
}

// TestSegments: they are cut only where no access is under way, and share some.
func TestSegments(t *testing.T) {
	for _, test := range []struct {
		name  string
		n     int
		lasts func(i int) time.Duration // of access i, which begins i s after the first
		want  [][2]int                  // from which access to which
	}{
		{"few", segmentSize - 1, nil, [][2]int{{0, segmentSize - 1}}},
		{"many", 2 * segmentSize, nil, [][2]int{{0, segmentSize}, {segmentSize - segmentOverlap, 2*segmentSize - segmentOverlap}, {2*segmentSize - 2*segmentOverlap, 2 * segmentSize}}},
		{"one is under way where the first could end", segmentSize + 20, func(i int) time.Duration {
			if i == segmentSize-10 {
				return 15 * time.Second
			}
			return 0
		}, [][2]int{{0, segmentSize + 6}, {segmentSize + 6 - segmentOverlap, segmentSize + 20}}},
		{"one begins when the one before ends", 2 * segmentSize, func(int) time.Duration { return time.Second }, [][2]int{{0, 2 * segmentSize}}},
		{"one has no end", 2 * segmentSize, func(i int) time.Duration {
			if i == 5 {
				return history.Never - time.Hour
			}
			return 0
		}, [][2]int{{0, 2 * segmentSize}}},
	} {
		t.Run(test.name, func(t *testing.T) {
			all := make([]access, test.n)
			number := map[*history.Call]int{}
			for i := range all {
				at := time.Duration(i+1) * time.Second
				all[i] = access{call: &history.Call{Event: history.Event{At: at}}, ends: at + time.Millisecond}
				if test.lasts != nil && test.lasts(i) > 0 {
					all[i].ends = at + test.lasts(i)
				}
				number[all[i].call] = i
			}
			var got [][2]int
			for _, part := range segments(all) {
				got = append(got, [2]int{number[part[0].call], number[part[len(part)-1].call] + 1})
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("segments = %v, want %v", got, test.want)
			}
		})
	}
}
