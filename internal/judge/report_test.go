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
	if err != nil {
		t.Fatal(err)
	}
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
