package main

import (
	"fmt"
	"io"
	"time"
)

// report searches cases, some at once, writes a line for each, in order, and is false if
// something is not as it must be. whole says that these are all cases of each family, so
// that every action has to happen.
//
// Goroutines: one for each case, of which so many work as workers says, and one that
// starts them. They end when their case is searched; report waits for them.
func report(w io.Writer, cases []testCase, workers int, traces, whole bool) bool {
	start, failures := time.Now(), 0
	verdicts := make([]verdict, len(cases))
	done := make([]chan struct{}, len(cases))
	for i := range cases {
		done[i] = make(chan struct{})
	}
	go func() {
		free := make(chan struct{}, workers)
		for i := range cases {
			free <- struct{}{}
			go func() {
				verdicts[i] = cases[i].run()
				close(done[i])
				<-free
			}()
		}
	}()

	fmt.Fprintf(w, columns, "family", "case", "broken rules", "bounds", "shows", "states", "steps", "time")
	for i := range cases {
		<-done[i]
		v := &verdicts[i]
		shows, steps := "safe", ""
		if v.wrong != safe {
			shows, steps = v.wrong, fmt.Sprint(len(v.trace))
		}
		fmt.Fprintf(w, columns, v.family, v.name, v.broken, v.bounds, shows, fmt.Sprint(v.states), steps, fmt.Sprintf("%.1fs", v.took.Seconds()))
		complaint := v.complaint()
		if complaint != "" {
			failures++
			fmt.Fprintf(w, "    FAILED: %s\n", complaint)
		}
		if traces || complaint != "" {
			for n, line := range v.trace {
				fmt.Fprintf(w, "    %2d %s\n", n+1, line)
			}
		}
	}
	if whole {
		for _, action := range dead(verdicts) {
			failures++
			fmt.Fprintf(w, "    FAILED: this never happens in %s\n", action)
		}
	}
	fmt.Fprintf(w, "%d cases, %d failures, %.0fs\n", len(cases), failures, time.Since(start).Seconds())
	return failures == 0
}

// columns of the table.
const columns = "%-9s  %-42s  %-21s  %-40s  %-24s %9s %5s %6s\n"
