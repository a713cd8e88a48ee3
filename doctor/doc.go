// Package doctor examines a set of Redis masters and says whether locks are safe there, and what to do
// if they are not.
//
//	report, err := doctor.Examine(ctx, redlock.Config{Masters: masters}, "")
//	if err != nil {
//		return err // the Config makes no sense
//	}
//	for _, f := range report.Findings {
//		fmt.Println(f.Severity, f.ID, f.Masters, f.Verdict, f.Remedy)
//	}
//
// Examine gathers the facts at all masters at the same time, see [probe.Run], and works out the findings from the
// facts alone. Each [Finding] has an ID that stays the same from version to version. The page docs/doctor.md says what
// each means and what to do.
//
// Examine locks one random name of its own at each master, and removes every trace of that. It changes
// nothing else.
//
// # Concurrency
//
// Examine may be called from any goroutine, and at the same time as other calls. It runs two
// goroutines per master, which have ended when it returns.
//
// # Errors
//
// Whatever is wrong with a master is a finding. An error says that the Config is invalid.
package doctor
