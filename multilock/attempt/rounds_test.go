package attempt

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/check"
	"example.com/redlock/quorum"
)

// A round is settled once: when a majority has the hold, when so many lack it that somebody else may have one, or when
// all have answered and neither is so. A release is when a majority does not have it any more, and it is known whether
// so many lacked it before that somebody else may have had a majority.
func TestResults(t *testing.T) {
	outcomes := []Outcome{Yes, No, Unknown}
	for n := 1; n <= 6; n++ {
		conf, q := Config{Masters: n}, quorum.Majority(n)
		answers := make([]int, n)
		for more := true; more; {
			for _, command := range []Command{Extend, Release} {
				r, told := Round{Command: command}, Pending
				count := [3]int{}
				for i, a := range answers {
					count[a]++
					yes, no, open := count[0], count[1], n-i-1
					want := Pending
					switch {
					case told != Pending:
					case command == Extend && yes == q:
						want = Confirmed
					case command == Extend && n-no < q, command == Release && no >= q:
						want = Denied
					case command == Release && yes+no >= q && (no+open+count[2] < q || open == 0):
						want = Confirmed
					case open == 0:
						want = Failed
					}
					got := r.tally(&conf, &Event{Master: i, Outcome: outcomes[a]})
					if got != want {
						t.Fatalf("%v %v, after m%d: %d, want %d", command, answers, i+1, got, want)
					}
					told = max(told, got)
				}
				if told == Pending {
					t.Fatalf("%v %v: never settled", command, answers)
				}
			}
			more = false
			for i := range answers {
				if answers[i]++; answers[i] < len(outcomes) {
					more = true
					break
				}
				answers[i] = 0
			}
		}
	}
}

// Rounds of many attempts fall on common moments, so that they share a flush: earlier than they would be, never later.
func TestRoundsFallOnAGrid(t *testing.T) {
	for _, off := range []time.Duration{0, 1, 13 * time.Millisecond, 49*time.Millisecond + 999, 50 * time.Millisecond, -time.Hour - 1} {
		conf, now := Config{Masters: 3, Times: Usual}, clock.Instant{}.Add(off)
		c := Attempt{Want: Want{Lease: time.Second, Wait: true}, Masters: make([]Master, 3), Rounds: make([]Round, 2)}
		var out Effects
		c.Step(&conf, now, &Event{Kind: Start}, &out)
		if pause := c.AskAt.Sub(now); c.AskAt.Sub(clock.Instant{})%Usual.Grid != 0 || pause > 200*time.Millisecond || pause <= 150*time.Millisecond {
			t.Errorf("at %v the next round is due in %v; want it on a multiple of %v, in 150 to 200 ms", off, pause, Usual.Grid)
		}
	}
}

// The picture of the states in docs/how-it-works.md is that of the table.
//
//	go test ./multilock/attempt -run TestPicture -update
func TestPicture(t *testing.T) {
	const page = "STATES.md"
	was := check.File(t, page)
	before, rest, ok := strings.Cut(was, "<!-- states: attempt -->\n")
	_, after, closed := strings.Cut(rest, "<!-- /states -->\n")
	if !ok || !closed {
		t.Fatalf("%s has no place for the picture", page)
	}
	lines := []string{"stateDiagram-v2", "[*] --> idle"}
	for _, a := range Arrows {
		lines = append(lines, fmt.Sprintf("%v --> %v: %s", a.From, a.To, a.Why))
	}
	picture := strings.Join(append(lines, "ended --> [*]"), "\n    ")
	text := before + "<!-- states: attempt -->\n```mermaid\n" + picture + "\n```\n<!-- /states -->\n" + after
	if text == was {
		return
	}
	if !*update {
		t.Fatalf("%s shows other states than the table; -update writes them", page)
	}
	check.OK(t, os.WriteFile(page, []byte(text), 0o644))
}

// The client's clock is behind by what a majority of the masters has gained on it, and by no more, whichever
// of them shows it first. What is over is none of it.
func TestLag(t *testing.T) {
	type gain struct {
		master int
		d      time.Duration // 0: it is steady
		missed time.Duration // that it adds
	}
	for _, tt := range []struct {
		name  string
		n     int
		gains []gain
	}{
		{"a minority", 3, []gain{{0, 5, 0}, {0, 5, 0}}},
		{"two of them", 3, []gain{{2, 5, 0}, {0, 3, 3}, {0, 1, 1}}},
		{"one in steps", 3, []gain{{0, 3, 0}, {0, 2, 0}, {1, 5, 5}}},
		{"five", 5, []gain{{0, 5, 0}, {1, 6, 0}, {2, 7, 5}, {3, 2, 1}}},
		{"twice", 3, []gain{{0, 5, 0}, {1, 5, 5}, {0, 7, 0}, {1, 7, 7}}},
		{"more than can be counted", 3, []gain{{0, 1 << 62, 0}, {0, 1 << 62, 0}, {1, 5, 5}}},
		{"not at one time", 3, []gain{{0, 5, 0}, {0, 0, 0}, {1, 5, 0}, {1, 0, 0}, {2, 5, 0}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conf, l := Config{Masters: tt.n}, Lag{}
			for i, g := range tt.gains {
				var got time.Duration
				if g.d == 0 {
					l.Steady(g.master)
				} else {
					got = l.Gained(&conf, g.master, g.d)
				}
				check.Equal(t, got, g.missed, "missed by gain %d", i)
			}
		})
	}
}
