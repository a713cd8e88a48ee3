package judge

import (
	"slices"
	"testing"

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
			if got := test.check.Verdict(); got != test.want {
				t.Errorf("Verdict = %q, want %q", got, test.want)
			}
		})
	}
}

// TestReportIsInOrder: whichever check found it.
func TestReportIsInOrder(t *testing.T) {
	h, _ := story(`
		1.0 c1 call 1 lock a
		1.1 c1 grant 1 a token=5 until=3
		1.2 c2 call 1 lock a
		1.3 c2 grant 1 a token=4 until=3
		1.4 c1 alive 1 until=3
		1.4 c2 alive 1 until=3
		2.0 c1 call 2 lock b
		2.1 c1 grant 2 b token=5 until=3
		2.2 c2 call 2 lock b
		2.3 c2 grant 2 b token=4 until=3
		2.3 c1 return 1
		2.3 c1 return 2
		2.3 c2 return 1
		2.3 c2 return 2
		2.3 m1 audit
		2.3 m2 audit
		2.3 m3 audit`).read(t)
	report, err := Judge(h)
	if err != nil {
		t.Fatal(err)
	}
	all := report.Violations()
	var checks []string
	for _, v := range all {
		checks = append(checks, v.Check)
	}
	if want := []string{Exclusion, Order, Tokens, Order, Tokens}; !slices.Equal(checks, want) {
		t.Errorf("got %v, want %v:\n%s", checks, want, show(all))
	}
}

func TestJudgeRefusesContradictions(t *testing.T) {
	h, _ := story(`1.0 c1 return 1`).read(t)
	if _, err := Judge(h); err == nil {
		t.Error("a return without a call: no error")
	}
}

// TestWhen: a violation begins when something is late for the first time.
func TestWhen(t *testing.T) {
	for _, test := range []struct {
		name  string
		check func(*record) Check
		story
		want string
	}{
		{"after a deadline", deadlines, `
			1.0 c1 call 1 lock a deadline=2
			5.0 c1 return 1 err=ended`, "2.1"},
		{"never returned", deadlines, `
			1.0 c1 started
			1.0 c1 call 1 lock a
			5.0 r  over`, "5"},
		{"nobody has a name", service, `
			20.0 c1 call 1 lock a
			25.0 c1 grant 1 a until=30`, "22"},
		{"others have it", service, `
			20.0 c1 call 1 lock a
			20.5 c2 call 1 trylock a
			20.5 c2 grant 1 a until=30
			25.0 c1 return 1 err=ended`, "22"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h, _ := test.read(t)
			r, err := newRecord(h)
			if err != nil {
				t.Fatal(err)
			}
			if got := test.check(r).Violations; len(got) != 1 || got[0].At != seconds(t, test.want) {
				t.Errorf("got\n%swant one at %s s", show(got), test.want)
			}
		})
	}
}
