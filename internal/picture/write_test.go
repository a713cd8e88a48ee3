package picture

import (
	"bytes"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
)

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
	if !slices.Equal(got, want) {
		t.Errorf("the folder has %v, the page %v", got, want)
	}
}
