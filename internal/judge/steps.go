package judge

import "example.com/redlock/internal/history"

// Steps is the check that clients do what their machines decide: see package witness. What it finds need not have
// done any harm.
const Steps = "steps"

func steps(r *record) Check {
	check := Check{Name: Steps, Looked: r.steps}
	for _, e := range r.strayed {
		check.Violations = append(check.Violations, history.Violation{
			Check: Steps, At: e.At, Events: r.part(e), Text: e.Who + ": " + e.Text,
		})
	}
	return check
}
