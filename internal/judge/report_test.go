package judge

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
)

func TestVerdict(t *testing.T) {
	wrong, excused := history.Violation{Text: "wrong"}, history.Violation{Text: "wrong", Unpromised: "why"}
	for _, test := range []struct {
		name  string
		check Check
		want  Verdict
	}{
		{"nothing to look at", Check{}, Nothing},
		{"nothing found", Check{Looked: 1}, Passed},
		{"nothing that was promised", Check{Looked: 1, Violations: []history.Violation{excused}}, Passed},
		{"one", Check{Looked: 1, Violations: []history.Violation{excused, wrong}}, Failed},
		{"without a look", Check{Violations: []history.Violation{wrong}}, Failed},
	} {
		t.Run(test.name, func(t *testing.T) {
			check.Equal(t, test.check.Verdict(), test.want, "Verdict")
			if err := (&Report{Checks: []Check{test.check}}).Err(); (err != nil) != (test.want == Failed) {
				t.Errorf("Err = %v of a report with it", err)
			}
		})
	}
}

// TestReportIsInOrder: whichever check found it.
func TestReportIsInOrder(t *testing.T) {
	h, _ := story(`
		c1: 1.0 lock a, 1.1 grant token=5 until=3, 1.4 alive, 2.0 lock b, 2.1 grant token=5 until=3,
			2.3 return call=1, 2.3 return
		c2: 1.2 lock a, 1.3 grant token=4 until=3, 1.4 alive, 2.2 lock b, 2.3 grant token=4 until=3,
			2.3 return call=1, 2.3 return
		m1: 2.3 audit
		m2: 2.3 audit
		m3: 2.3 audit`).read(t)
	report, err := Judge(h)
	check.OK(t, err)
	all := report.Violations()
	var checks []string
	for _, v := range all {
		checks = append(checks, v.Check)
	}
	if want := []string{Exclusion, Tokens, Tokens}; !slices.Equal(checks, want) {
		t.Errorf("got %v, want %v:\n%s", checks, want, show(all))
	}
}

func TestJudgeRefusesContradictions(t *testing.T) {
	h, _ := story(`c1: 1.0 return call=1`).read(t)
	if _, err := Judge(h); err == nil {
		t.Error("a return without a call: no error")
	}
}

// busy has something of everything.
const busy story = `
			c1: 1.0 started, 1.0 lock a, 1.1 grant token=5 until=3, 1.1 return, 1.4 alive,
				3.01 lost, 3.2 write a token=5
			r: 1.2 fault flushall on=m1 forgets, 1.2 mended, 2.5 fault cut on=m1, 4.9 mended text=impossible,
				5.2 fault pause on=m1 text=a
			c2: 1.2 lock a, 1.3 grant token=6 until=3, 1.3 return, 1.4 alive,
				1.8 unlock, 1.9 return, 2.0 lock b deadline=5,
				3.1 write a token=6, 3.1 write a token=6, 5.0 return err=ended, 5.0 lock b,
				5.1 grant token=1 until=9, 5.1 return, 5.3 lost err=closed, 5.4 lock c, 5.4 grant token=1 until=9,
				5.4 return, 5.5 lost err=closed`

func TestSummary(t *testing.T) {
	h, _ := busy.read(t)
	report, err := Judge(h)
	check.OK(t, err)
	want := Summary{
		Calls:       map[history.Do]int{history.Lock: 5, history.Unlock: 1},
		Holds:       map[history.Do]int{history.Lock: 4},
		Faults:      map[string]int{"flushall": 1, "cut": 1, "pause": 1},
		Undone:      map[string]int{"cut": 1},
		Writes:      3,
		Stale:       1,
		Lost:        1,
		Wasted:      1,
		Unavailable: Unavailable{"b", history.Span{From: seconds(t, "2.0"), To: seconds(t, "5.0")}},
		Calm:        Unavailable{"b", history.Span{From: seconds(t, "2.0"), To: seconds(t, "2.5")}},
		Excused:     1, Caught: 1,
	}
	check.That(t, reflect.DeepEqual(report.Summary, want), "got %+v\nwant %+v", report.Summary, want)
	for _, want := range []string{
		"exclusion  passed             looked at 4, 1 that nobody promised to exclude\n",
		"residue    FAILED             looked at 4, 4 violations\n",
		"\n4 holds: lock 4\n6 calls: lock 5, unlock 1\n3 faults of 3 kinds: cut 1, flushall 1, pause 1\n1 of these could not be done: cut 1\n1 holds were lost",
		"longest unavailability in all: 3s of b, from 2s on\nlongest unavailability outside faults: 500ms of b, from 2s on\n",
		"1 pairs of holds that nobody promised to exclude, 1 of them told apart by their tokens\n",
		"3 writes, 1 of them with an older token than one before\n",
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
		if text := report.String(); !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestWasted: a lost hold is wasted unless nobody was to renew it, or had the time.
func TestWasted(t *testing.T) {
	for _, tt := range []struct {
		story
		want int
	}{
		{"c1: 1.0 lock a, 1.1 grant until=3, 3.01 lost", 1},
		{"c1: 1.0 lockfor a, 1.1 grant until=3, 3.01 lost", 0},
		{"c1: 1.0 lock a, 1.1 grant until=3, 2.0 stall from=1.5, 3.01 lost", 1},
		{"c1: 1.0 lock a, 1.1 grant until=3, 2.2 stall from=1.5, 3.01 lost", 0},
		{"c1: 1.0 lock a, 1.1 grant until=3, 3.01 lost\nm1: 2.2 stall from=1.5", 0},
		{"c1: 1.0 lock a, 1.1 grant until=3, 3.01 lost\nc2: 2.2 stall from=1.5", 1},
	} {
		if s := tt.record(t).summary(nil); s.Lost != 1 || s.Wasted != tt.want {
			t.Errorf("%s\n%d lost, %d wasted; want 1, %d", tt.story, s.Lost, s.Wasted, tt.want)
		}
	}
}

// TestExcused: only what nobody promised to exclude counts as such, and only tokens that differ tell two holds apart.
func TestExcused(t *testing.T) {
	for _, tt := range []struct {
		story
		excused, caught int
	}{
		{"c1: 1.0 lock a, 1.1 grant token=5 until=3, 1.4 alive\nc2: 1.2 lock a, 1.3 grant token=6 until=3, 1.5 alive", 0, 0},
		{"c1: 1.0 lock a, 1.1 grant token=5 until=3, 1.4 alive\nc2: 1.2 lock a, 1.3 grant token=5 until=3, 1.5 alive\nr: 1.2 fault flushall on=m1 forgets", 1, 0},
	} {
		h, _ := tt.read(t)
		report, err := Judge(h)
		check.OK(t, err)
		if s := report.Summary; s.Excused != tt.excused || s.Caught != tt.caught {
			t.Errorf("%s\n%d pairs, %d told apart; want %d, %d", tt.story, s.Excused, s.Caught, tt.excused, tt.caught)
		}
	}
}
