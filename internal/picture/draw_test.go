package picture

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
)

var update = flag.Bool("update", false, "write what is drawn of the busy history")

// script makes events briefly, for one client after another.
type script struct{ events []history.Event }

func (s *script) add(events ...history.Event) { s.events = append(s.events, events...) }

// hold is a hold of name from a call to its Unlock, in milliseconds. unlock 0: there was none.
func (s *script) hold(who string, n int, do history.Do, name string, asked, granted, unlock time.Duration) {
	shared := do == history.RLock
	s.add(history.Event{At: asked * ms, What: history.Called, Who: who, Call: n, Do: do, Names: []string{name}})
	s.add(history.Event{At: granted * ms, What: history.Granted, Who: who, Call: n, Hold: n, Name: name, Shared: shared, Token: int64(n), Until: granted*ms + time.Second})
	s.add(history.Event{At: granted * ms, What: history.Returned, Who: who, Call: n})
	if unlock > 0 {
		s.add(history.Event{At: unlock * ms, What: history.Called, Who: who, Call: 100_000 + n, Do: history.Unlock, Hold: n})
		s.add(history.Event{At: unlock*ms + ms, What: history.Returned, Who: who, Call: 100_000 + n})
	}
}

// busy has all that is drawn in a way of its own. What belongs together has a client, or a lock, that is called by what
// it shows.
func busy(t *testing.T) (*history.History, []history.Violation) {
	t.Helper()
	var s script
	s.hold("ends", 1, history.Lock, "lost", 10, 20, 0)
	s.hold("ends", 2, history.Lock, "lost while it was unlocked", 10, 20, 0)
	s.hold("killed", 1, history.Lock, "died", 10, 20, 0)
	s.hold("stopped", 1, history.Lock, "open", 10, 20, 0)
	s.hold("rows", 1, history.Lock, "r1", 10, 20, 50) // until Unlock returns, at 51
	s.hold("rows", 2, history.Lock, "r2", 50, 60, 70) // overlaps
	s.hold("rows", 3, history.Lock, "r3", 51, 60, 70) // does not overlap the first
	s.hold("rows", 4, history.Lock, "r4", 100, 110, 0)
	s.hold("rows", 5, history.Lock, "r5", 300, 310, 320) // until its validity ends, nobody has the row of the one that was lost
	s.hold("from", 1, history.Lock, "to one who waited", 10, 20, 50)
	s.hold("to", 1, history.Lock, "to one who waited", 30, 52, 60)
	s.hold("from", 2, history.Lock, "not to one who came later", 10, 20, 50)
	s.hold("to", 2, history.Lock, "not to one who came later", 51, 52, 60)
	s.hold("from", 3, history.Lock, "not to a try", 10, 20, 50)
	s.hold("to", 3, history.TryLock, "not to a try", 49, 52, 60)
	s.hold("from", 4, history.Lock, "not a third of the lease later", 10, 20, 50)
	s.hold("to", 4, history.Lock, "not a third of the lease later", 30, 384, 390)
	s.hold("from", 5, history.Lock, "once", 10, 20, 50)
	s.hold("to", 5, history.Lock, "once", 30, 52, 0)
	s.hold("next", 5, history.Lock, "once", 31, 70, 80)
	s.hold("from", 6, history.Lock, "to both readers, and from the last", 10, 20, 50)
	s.hold("to", 6, history.RLock, "to both readers, and from the last", 30, 52, 60)
	s.hold("next", 6, history.RLock, "to both readers, and from the last", 31, 53, 70)
	s.hold("last", 6, history.Lock, "to both readers, and from the last", 32, 72, 80)
	s.hold("marks", 1, history.Lock, "m1", 10, 20, 90)
	s.hold("marks", 2, history.Lock, "m2", 11, 21, 90)
	s.add([]history.Event{
		{At: 1 * ms, What: history.Started, Who: "killed"},
		{At: 2 * ms, What: history.Started, Who: "stopped", Skew: time.Hour},
		{At: 3 * ms, What: history.Started, Who: "host.example"},
		{At: 3 * ms, What: history.Stopped, Who: "stopped"},
		{At: 4 * ms, What: history.Stall, Who: "killed", From: 2 * ms},
		{At: 6 * ms, What: history.Continued, Who: "stopped"},
		{At: 9 * ms, What: history.Stall, Who: "m2", From: 5 * ms},
		{At: 10 * ms, What: history.Fault, ID: 1, Fault: "cut-client", On: []string{"m2", "killed.2", "killed", "nobody"}, Text: "both ways"},
		{At: 20 * ms, What: history.Fault, ID: 2, Fault: "flushall", Forgets: true},
		{At: 20 * ms, What: history.Mended, ID: 2},
		{At: 30 * ms, What: history.Mended, ID: 1},
		{At: 30 * ms, What: history.Fault, ID: 3, Fault: "slow", On: []string{"m2"}},
		{At: 40 * ms, What: history.Fault, ID: 4, Fault: "clock-back", On: []string{"m3"}},
		{At: 50 * ms, What: history.Mended, ID: 4, Forgets: true, From: 45 * ms},
		{At: 30 * ms, What: history.Wrote, Who: "marks", Hold: 2, Name: "m", Token: 2},
		{At: 40 * ms, What: history.Called, Who: "marks", Call: 7, Do: history.Extend, Hold: 1},
		{At: 41 * ms, What: history.Returned, Who: "marks", Call: 7},
		{At: 42 * ms, What: history.Called, Who: "marks", Call: 8, Do: history.Extend, Hold: 1},
		{At: 43 * ms, What: history.Returned, Who: "marks", Call: 8, Err: history.NoQuorum},
		{At: 50 * ms, What: history.Alive, Who: "marks", Hold: 1, Until: 1025 * ms}, // the same, or nearly
		{At: 60 * ms, What: history.Alive, Who: "marks", Hold: 1, Until: 1060 * ms},
		{At: 200 * ms, What: history.Wrote, Who: "marks", Hold: 1, Name: "m", Token: 1},
		{At: 201 * ms, What: history.Wrote, Who: "nobody", Hold: 1, Name: "m", Token: 1},
		{At: 200 * ms, What: history.Called, Who: "ends", Call: 3, Do: history.Unlock, Hold: 2},
		{At: 200 * ms, What: history.Lost, Who: "rows", Hold: 4},
		{At: 250 * ms, What: history.Killed, Who: "killed"},
		{At: 260 * ms, What: history.Started, Who: "killed.2"},
		{At: 300 * ms, What: history.Lost, Who: "ends", Hold: 1, Text: "validity ended"},
		{At: 300 * ms, What: history.Lost, Who: "ends", Hold: 2},
		{At: 310 * ms, What: history.Called, Who: "ends", Call: 4, Do: history.Unlock, Hold: 1},
		{At: 400 * ms, What: history.Called, Who: "rows", Call: 9, Do: history.TryLock, Names: []string{"r1"}},
		{At: 401 * ms, What: history.Returned, Who: "rows", Call: 9, Err: history.Taken, Text: strings.Repeat("é", longest)},
		{At: 402 * ms, What: history.Called, Who: "rows", Call: 10, Do: history.TryLock, Names: []string{"r1"}},
		{At: 403 * ms, What: history.Returned, Who: "rows", Call: 10, Err: history.Taken, Text: strings.Repeat("é", longest+1)},
		{At: 800 * ms, What: history.Exited, Who: "killed.2"},
		{At: 900 * ms, What: history.Over},
	}...)
	return of(t, s.events...), []history.Violation{
		{Check: "exclusion", At: 21 * ms, Text: "two", Events: []history.Event{
			{At: 20 * ms, What: history.Granted, Who: "marks", Hold: 1},
			{At: 21 * ms, What: history.Granted, Who: "marks", Hold: 2},
			{At: 60 * ms, What: history.Alive, Who: "marks", Hold: 1},
		}},
		{Check: "errors", At: 401 * ms, Text: "odd", Events: []history.Event{{At: 401 * ms, What: history.Returned, Who: "rows", Call: 9}}},
		{Check: "turns", At: 91 * ms, Text: "late", Events: []history.Event{{At: 11 * ms, What: history.Called, Who: "marks", Call: 2}}},
		{Check: "left", At: 95 * ms, Text: "a key", Unpromised: "why", Events: []history.Event{{At: 95 * ms, What: history.Audited, Who: "m3"}}},
	}
}

// TestDraw: what a page shows is the golden file's, thing by thing. After a change that is meant:
// go test ./internal/picture -update.
func TestDraw(t *testing.T) {
	h, violations := busy(t)
	view, err := h.View()
	check.OK(t, err)
	var got strings.Builder
	shown := reflect.ValueOf(draw(h, view, violations))
	for i := range shown.NumField() {
		name, field := shown.Type().Field(i).Name, shown.Field(i)
		if field.Kind() != reflect.Slice {
			fmt.Fprintf(&got, "%s: %+v\n", name, field)
			continue
		}
		for j := range field.Len() {
			fmt.Fprintf(&got, "%s %d: %+v\n", name, j, field.Index(j))
		}
	}
	const golden = "testdata/busy.txt"
	if *update {
		check.OK(t, os.WriteFile(golden, []byte(got.String()), 0o600))
	}
	if want, err := os.ReadFile(golden); err != nil || got.String() != string(want) {
		t.Errorf("the page shows\n%s\nwant %v\n%s", &got, err, want)
	}
	if draw(h, view, nil).Violations != nil || draw(h, view, []history.Violation{}).Violations == nil {
		t.Error("the page does not tell a run that nobody judged from one without violations")
	}
}

const ms = time.Millisecond

// of puts events in order, after the one that a run begins with.
func of(t *testing.T, events ...history.Event) *history.History {
	t.Helper()
	run := history.Run{Title: "a run", Seed: 7, Masters: []string{"m1", "m2", "m3"}, Lease: time.Second}
	h, err := history.Merge([]history.Event{{What: history.RunBegan, Run: &run}}, events)
	check.OK(t, err)
	return h
}

// written returns the page of a history.
func written(t *testing.T, h *history.History, violations []history.Violation) string {
	t.Helper()
	var out bytes.Buffer
	check.OK(t, Write(&out, h, violations))
	return out.String()
}

// Texts of a history stay data: none ends the script or the title, or begins a tag.
func TestTextsAreData(t *testing.T) {
	const nasty = `</script></title><script>alert("'&` + "\u2028" + `")<!--`
	h := of(t,
		history.Event{At: 1 * ms, What: history.Started, Who: nasty},
		history.Event{At: 2 * ms, What: history.Called, Who: nasty, Call: 1, Do: history.Lock, Names: []string{nasty}},
		history.Event{At: 3 * ms, What: history.Granted, Who: nasty, Call: 1, Hold: 1, Name: nasty},
		history.Event{At: 4 * ms, What: history.Fault, ID: 1, Fault: nasty, On: []string{"m1", nasty}, Text: nasty},
		history.Event{At: 5 * ms, What: history.Lost, Who: nasty, Hold: 1, Text: nasty},
	)
	h.Run.Title, h.Run.Replay = nasty, nasty
	got := written(t, h, []history.Violation{{Check: nasty, Text: nasty, Unpromised: nasty}})
	plain := written(t, of(t), nil)
	for _, tag := range []string{"<script", "</script", "</title", "<!--", `alert("`} {
		if g, w := strings.Count(got, tag), strings.Count(plain, tag); g != w {
			t.Errorf("the page has %d of %q, want %d", g, tag, w)
		}
	}
	if !strings.Contains(got, `\u003c/script\u003e`) {
		t.Error("the name of the lock is not in the page")
	}
}

// The page loads nothing: it names no address.
func TestSelfContained(t *testing.T) {
	got := written(t, of(t), nil)
	if found := regexp.MustCompile(`(?i)\b(src|href)\s*=|https?:|url\(|@import|\bimport\b`).FindString(got); found != "" {
		t.Errorf("the page has %q", found)
	}
	if left := regexp.MustCompile(`\{\{\w+\}\}`).FindString(got); left != "" {
		t.Errorf("%s was not filled in", left)
	}
}

// Each file of the folder is in the page.
func TestScripts(t *testing.T) {
	files, err := parts.ReadDir("page")
	check.OK(t, err)
	want := []string{"page.css", "page.html"}
	want = append(want, scripts...)
	slices.Sort(want)
	var got []string
	for _, file := range files {
		got = append(got, file.Name())
	}
	check.That(t, slices.Equal(got, want), "the folder has %v, the page %v", got, want)
}
