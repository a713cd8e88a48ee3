package judge

import (
	"reflect"
	"strings"
	"testing"

	"example.com/redlock/internal/history"
)

// busy has something of everything.
const busy story = `
	1.0 c1 started
	1.0 c1 call 1 lock a
	1.1 c1 grant 1 a token=5 until=3
	1.1 c1 return 1
	1.2 r  fault 1 flushall on=m1 forgets
	1.2 r  mended 1
	1.2 c2 call 1 lock a
	1.3 c2 grant 1 a token=6 until=3
	1.3 c2 return 1
	1.4 c1 alive 1 until=3
	1.4 c2 alive 1 until=3
	1.5 c1 accepted plainwrite a hold=1 base=0 value=1
	1.6 c2 accepted plainwrite a hold=1 base=0 value=1
	1.7 c1 accepted plainwrite a hold=1 base=0 value=1
	1.8 c2 call 2 unlock hold=1
	1.9 c2 return 2
	2.0 c2 call 3 lock b deadline=5
	2.5 r  fault 2 cut on=m1
	3.01 c1 lost 1
	3.1 c2 accepted write a hold=1 token=6
	3.1 c2 accepted write a hold=1 token=6
	3.2 c1 refused write a hold=1 token=5
	4.9 r  mended 2 text=impossible
	5.0 c2 return 3 err=ended
	5.0 c2 call 4 lock b
	5.1 c2 grant 4 b token=1 until=9
	5.1 c2 return 4
	5.2 r  fault 3 pause on=m1 text=a
	5.3 c2 lost 4 err=closed
	5.4 c2 call 5 lock c
	5.4 c2 grant 5 c token=1 until=9
	5.4 c2 return 5
	5.5 c2 lost 5 err=closed`

func TestSummary(t *testing.T) {
	h, _ := busy.read(t)
	report, err := Judge(h)
	if err != nil {
		t.Fatal(err)
	}
	want := Summary{
		Calls:       map[history.Do]int{history.Lock: 5, history.Unlock: 1},
		Holds:       map[history.Do]int{history.Lock: 4},
		Faults:      map[string]int{"flushall": 1, "cut": 1, "pause": 1},
		Undone:      map[string]int{"cut": 1},
		Refused:     1,
		Lost:        1,
		Unavailable: Unavailable{"b", history.Span{From: seconds(t, "2.0"), To: seconds(t, "5.0")}},
		Calm:        Unavailable{"b", history.Span{From: seconds(t, "2.0"), To: seconds(t, "2.5")}},
		Excused:     1, Caught: 1,
		Plain: Unprotected{Writes: 3, Lost: 2, Stale: 1},
	}
	if !reflect.DeepEqual(report.Summary, want) {
		t.Errorf("got %+v\nwant %+v", report.Summary, want)
	}
	var text strings.Builder
	if n, err := report.WriteTo(&text); err != nil || n != int64(text.Len()) {
		t.Errorf("WriteTo = %d, %v; it wrote %d bytes", n, err, text.Len())
	}
	for _, want := range []string{
		"exclusion  passed             looked at 4, 1 that nobody promised to exclude\n",
		"residue    FAILED             looked at 4, 4 violations\n",
		"\n4 holds: lock 4\n6 calls: lock 5, unlock 1\n3 faults of 3 kinds: cut 1, flushall 1, pause 1\n1 of these could not be done: cut 1\n1 holds were lost",
		"longest unavailability in all: 3s of b, from 2s on\nlongest unavailability outside faults: 500ms of b, from 2s on\n",
		"1 pairs of holds that nobody promised to exclude, 1 of them told apart by their tokens\n",
		"1 writes refused for their tokens\n3 writes without a look at tokens: 2 lost an update, 1 of these had an old token\n",
		`
exclusion at 1.3s: c1 and c2 had a at the same time for at least 100ms
(nobody promised otherwise: masters forgot without restarting (flushall))
      1.0000 s  c1     call 1 lock of a
      1.1000 s  c1     grant 1 of a hold 1 token 5 until 3.0000 s
      1.2000 s  r      fault flushall on m1 forgets
      1.2000 s  r      mended
      1.3000 s  c2     grant 1 of a hold 1 token 6 until 3.0000 s
      1.4000 s  c1     alive hold 1 until 3.0000 s
      1.4000 s  c2     alive hold 1 until 3.0000 s
`,
	} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in\n%s", want, &text)
		}
	}
}

// TestPeers: of a library without tokens and loss signals, the judge checks the rest.
func TestPeers(t *testing.T) {
	h, _ := story(`
		1.0 c1 call 1 lock a
		1.1 c1 grant 1 a until=3
		1.2 c1 call 2 write a value=1
		1.2 c1 return 2
		3.5 c1 call 3 unlock hold=1
		3.6 c1 accepted write a
		3.7 c1 call 4 lock a
		3.8 c1 grant 4 a until=5
		3.9 c1 call 5 unlock hold=4`).read(t)
	h.Run.Tokens, h.Run.Signal = false, false
	report, err := Judge(h)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range report.Checks {
		switch c.Name {
		case Register, Tokens, Loss:
			if c.Verdict() != Nothing {
				t.Errorf("%s: %s", c.Name, c.Verdict())
			}
		case Exclusion, Order:
			if c.Verdict() != Passed {
				t.Errorf("%s: %s", c.Name, c.Verdict())
			}
		}
	}
	if n := report.Summary.Unnoticed; n != 1 {
		t.Errorf("%d holds outlived their validity unnoticed, want 1", n)
	}
}

// TestCaught: only tokens that differ tell two holds apart.
func TestCaught(t *testing.T) {
	h, _ := story(`
		1.0 c1 call 1 lock a
		1.1 c1 grant 1 a token=5 until=3
		1.2 r  fault 1 flushall on=m1 forgets
		1.2 c2 call 1 lock a
		1.3 c2 grant 1 a token=5 until=3
		1.4 c1 alive 1 until=3
		1.4 c2 alive 1 until=3`).read(t)
	report, err := Judge(h)
	if err != nil {
		t.Fatal(err)
	}
	if s := report.Summary; s.Excused != 1 || s.Caught != 0 {
		t.Errorf("%d pairs, %d told apart; want 1, 0", s.Excused, s.Caught)
	}
}

// TestUnprotected: what is lost and what is old is counted by what was written before.
func TestUnprotected(t *testing.T) {
	for _, test := range []struct {
		name string
		story
		want Unprotected
	}{
		{"in turn", `
			1.5 c1 accepted plainwrite a hold=1 base=0 value=1
			1.6 c2 accepted plainwrite a hold=1 base=1 value=2`, Unprotected{Writes: 2}},
		{"an old token", `
			1.5 c2 accepted plainwrite a hold=1 base=0 value=1
			1.6 c1 accepted plainwrite a hold=1 base=0 value=1`, Unprotected{Writes: 2, Lost: 1, Stale: 1}},
		{"an old token twice", `
			1.5 c2 accepted plainwrite a hold=1 base=0 value=1
			1.6 c1 accepted plainwrite a hold=1 base=0 value=2
			1.7 c1 accepted plainwrite a hold=1 base=0 value=3`, Unprotected{Writes: 3, Lost: 2, Stale: 2}},
		{"the same token", `
			1.5 c2 accepted plainwrite a hold=1 base=0 value=1
			1.6 c2 accepted plainwrite a hold=1 base=0 value=2`, Unprotected{Writes: 2, Lost: 1}},
		{"of a hold whose process was killed before it told of it", `
			1.5 c3 accepted plainwrite a hold=1 base=0 value=1`, Unprotected{Writes: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, _ := (`
				1.0 c1 call 1 lock a
				1.1 c1 grant 1 a token=5 until=3
				1.2 c2 call 1 lock a
				1.3 c2 grant 1 a token=6 until=3
			` + test.story).read(t)
			r, err := newRecord(h)
			if err != nil {
				t.Fatal(err)
			}
			if got := r.unprotected(); got != test.want {
				t.Errorf("unprotected = %+v, want %+v", got, test.want)
			}
		})
	}
}
