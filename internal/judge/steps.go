package judge

// Steps is the check that clients do what their machines decide: see package witness. What it finds need not have
// done any harm.
const Steps = "steps"

func steps(r *record) Check {
	check := Check{Name: Steps, Looked: r.steps}
	for _, e := range r.strayed {
		check.add(r, e.At, e.Who+": "+e.Text, e)
	}
	return check
}
