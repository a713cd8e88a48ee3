package judge

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"example.com/redlock/internal/history"
)

// shown is how many violations of a check are printed in full.
const shown = 10

// String returns the report for people: the verdicts, what there was, and violations with the part of the history that
// shows each.
func (r *Report) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n\n", r.Run.Title)
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', 0)
	for i := range r.Checks {
		c := &r.Checks[i]
		fmt.Fprintf(table, "%s\t%s\t%s\n", c.Name, c.Verdict(), c.Details())
	}
	_ = table.Flush() // to a Builder
	r.Summary.write(&text)
	for _, c := range r.Checks {
		for i, v := range c.Violations {
			if i == shown {
				fmt.Fprintf(&text, "\n%s: and %d more\n", c.Name, len(c.Violations)-i)
				break
			}
			fmt.Fprintf(&text, "\n%s", Tell(v))
		}
	}
	if r.Run.Replay != "" {
		fmt.Fprintf(&text, "\nto run it again: %s\n", r.Run.Replay)
	}
	return text.String()
}

// Tell returns a violation for people: what it is, and the part of the history that shows it, a line each.
func Tell(v history.Violation) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s at %v: %s\n", v.Check, round(v.At), v.Text)
	if v.Unpromised != "" {
		fmt.Fprintf(&text, "(nobody promised otherwise: %s)\n", v.Unpromised)
	}
	for _, e := range v.Events {
		fmt.Fprintf(&text, "  %s\n", sentenceOf(e))
	}
	return text.String()
}

// Details says what there is to a check's verdict.
func (c *Check) Details() string {
	broken, unpromised := c.Count()
	details := []string{fmt.Sprintf("looked at %d", c.Looked)}
	for _, d := range []struct {
		n    int
		what string
	}{
		{broken, "violations"},
		{unpromised, "that nobody promised to exclude"},
		{c.Unjudged, "not judged"},
	} {
		if d.n > 0 {
			details = append(details, fmt.Sprintf("%d %s", d.n, d.what))
		}
	}
	return strings.Join(details, ", ")
}

// write writes what there was.
func (s *Summary) write(out io.Writer) {
	fmt.Fprintf(out, "\n%d holds%s\n", Sum(s.Holds), list(s.Holds))
	fmt.Fprintf(out, "%d calls%s\n", Sum(s.Calls), list(s.Calls))
	fmt.Fprintf(out, "%d faults of %d kinds%s\n", Sum(s.Faults), len(s.Faults), list(s.Faults))
	if len(s.Undone) > 0 {
		fmt.Fprintf(out, "%d of these could not be done%s\n", Sum(s.Undone), list(s.Undone))
	}
	fmt.Fprintf(out, "%d holds were lost\n", s.Lost)
	for _, u := range []struct {
		when string
		Unavailable
	}{{"in all", s.Unavailable}, {"outside faults", s.Calm}} {
		if u.Lasted() > 0 {
			fmt.Fprintf(out, "longest unavailability %s: %v of %s, from %v on\n", u.when, round(u.Lasted()), u.Name, round(u.From))
		}
	}
	fmt.Fprintf(out, "%d pairs of holds that nobody promised to exclude, %d of them told apart by their tokens\n", s.Excused, s.Caught)
	fmt.Fprintf(out, "%d writes, %d of them with an older token than one before\n", s.Writes, s.Stale)
}

// list returns counts by kind, the most frequent first.
func list[K ~string](counts map[K]int) string {
	kinds := slices.SortedFunc(maps.Keys(counts), func(a, b K) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	var each []string
	for _, kind := range kinds {
		each = append(each, fmt.Sprintf("%s %d", kind, counts[kind]))
	}
	if len(each) == 0 {
		return ""
	}
	return ": " + strings.Join(each, ", ")
}

// sentenceOf returns an event as a line for people.
func sentenceOf(e history.Event) string {
	words := []string{fmt.Sprintf("%10.4f s  %-6s %s", e.At.Seconds(), e.Who, e.What)}
	add := func(format string, value any, there bool) {
		if there {
			words = append(words, fmt.Sprintf(format, value))
		}
	}
	seconds := func(d time.Duration) string { return fmt.Sprintf("%.4f s", d.Seconds()) }
	add("%d", e.Call, e.Call > 0)
	add("%s", e.Do, e.Do != "")
	add("%s", e.Fault, e.Fault != "")
	add("of %s", strings.Join(e.Names, ", "), len(e.Names) > 0)
	add("one of %d", e.Permits, e.Permits > 0)
	add("of %s", e.Name, e.Name != "")
	add("slot %d", e.Slot, e.Slot > 0)
	add("on %s", strings.Join(e.On, ", "), len(e.On) > 0)
	add("hold %d", e.Hold, e.Hold > 0)
	add("to read%s", "", e.Shared)
	add("place %d", e.Since, e.Since != 0)
	add("token %d", e.Token, e.Token != 0)
	add("until %s", seconds(e.Until), e.Until > 0)
	add("deadline %s", seconds(e.Deadline), e.Deadline > 0)
	add("from %s", seconds(e.From), e.From > 0)
	add("forgets%s", "", e.Forgets)
	add("left: %s", strings.Join(e.Left, ", "), len(e.Left) > 0)
	add("error %s", e.Err, e.Err != "")
	add("(%s)", e.Text, e.Text != "")
	return strings.Join(words, " ")
}
