package picture

import (
	"bytes"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/history"
)

// drawn returns what the page of a history shows.
func drawn(t *testing.T, h *history.History, violations []history.Violation) page {
	t.Helper()
	view, err := h.View()
	check.OK(t, err)
	return draw(h, view, violations)
}

// script makes events briefly, for one client after another.
type script struct{ events []history.Event }

func (s *script) add(e history.Event) { s.events = append(s.events, e) }

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

// A hold ends with its Unlock, its loss, its process, or not in this run.
func TestEndings(t *testing.T) {
	for name, test := range map[string]struct {
		more []history.Event
		how  ending
		end  time.Duration
	}{
		"lost": {
			more: []history.Event{
				{At: 300 * ms, What: history.Lost, Who: "c1", Hold: 1, Text: "validity ended"},
				{At: 310 * ms, What: history.Called, Who: "c1", Call: 2, Do: history.Unlock, Hold: 1},
			},
			how: lost, end: 300 * ms,
		},
		"lost while it was unlocked": {
			more: []history.Event{
				{At: 200 * ms, What: history.Called, Who: "c1", Call: 2, Do: history.Unlock, Hold: 1},
				{At: 300 * ms, What: history.Lost, Who: "c1", Hold: 1},
			},
			how: unlocked, end: 200 * ms,
		},
		"killed": {
			more: []history.Event{{At: 250 * ms, What: history.Killed, Who: "c1"}},
			how:  died, end: 250 * ms,
		},
		"never": {how: open, end: 900 * ms},
	} {
		t.Run(name, func(t *testing.T) {
			var s script
			s.add(history.Event{At: 1 * ms, What: history.Started, Who: "c1"})
			s.hold("c1", 1, history.Lock, "a", 10, 20, 0)
			s.events = append(s.events, test.more...)
			s.add(history.Event{At: 900 * ms, What: history.Over})
			got := drawn(t, of(t, s.events...), nil).Bars[0]
			if got.How != test.how || got.End != at(test.end) {
				t.Errorf("it ended %d at %v, want %d at %v", got.How, time.Duration(got.End), test.how, test.end)
			}
		})
	}
}

// Calls that overlap have rows of their own, and a hold that was not unlocked keeps its row until its
// validity ends.
func TestRows(t *testing.T) {
	var s script
	s.add(history.Event{At: 1 * ms, What: history.Started, Who: "c1"})
	s.hold("c1", 1, history.Lock, "a", 10, 20, 50)  // until Unlock returns, at 51
	s.hold("c1", 2, history.Lock, "b", 50, 60, 70)  // overlaps
	s.hold("c1", 3, history.Lock, "c", 51, 60, 70)  // does not overlap the first
	s.hold("c1", 4, history.Lock, "a", 100, 110, 0) // until 1110
	s.hold("c1", 5, history.Lock, "b", 300, 310, 320)
	s.add(history.Event{At: 200 * ms, What: history.Lost, Who: "c1", Hold: 4})
	s.add(history.Event{At: 400 * ms, What: history.Called, Who: "c1", Call: 9, Do: history.TryLock, Names: []string{"a"}})
	s.add(history.Event{At: 401 * ms, What: history.Returned, Who: "c1", Call: 9, Err: history.Taken})
	s.add(history.Event{At: 2000 * ms, What: history.Over})
	p := drawn(t, of(t, s.events...), nil)
	var got []int
	for _, b := range p.Bars {
		got = append(got, b.Row)
	}
	if want := []int{0, 1, 0, 0, 1}; !reflect.DeepEqual(got, want) {
		t.Errorf("rows of holds = %v, want %v", got, want)
	}
	if w := p.Waits[0]; w.Row != 1 || w.Err != history.Taken || w.End != at(401*ms) {
		t.Errorf("the try is drawn as %+v", w)
	}
	if p.Lanes[3].Rows != 2 {
		t.Errorf("the lane has %d rows, want 2", p.Lanes[3].Rows)
	}
}

func TestCut(t *testing.T) {
	for text, want := range map[string]string{
		strings.Repeat("é", 160): strings.Repeat("é", 160),
		strings.Repeat("é", 161): strings.Repeat("é", 159) + "…",
	} {
		check.Equal(t, cut(text), want, "cut(%q)", text)
	}
}

// A client that was killed and its successors share a lane. Masters come first.
func TestLanes(t *testing.T) {
	got := drawn(t, of(t,
		history.Event{At: 1 * ms, What: history.Started, Who: "c2"},
		history.Event{At: 2 * ms, What: history.Started, Who: "c1", Skew: time.Hour},
		history.Event{At: 3 * ms, What: history.Stopped, Who: "c1"},
		history.Event{At: 4 * ms, What: history.Stall, Who: "c2", From: 2 * ms},
		history.Event{At: 5 * ms, What: history.Killed, Who: "c2"},
		history.Event{At: 6 * ms, What: history.Continued, Who: "c1"},
		history.Event{At: 7 * ms, What: history.Started, Who: "c2.2"},
		history.Event{At: 8 * ms, What: history.Exited, Who: "c1"},
		history.Event{At: 9 * ms, What: history.Stall, Who: "m2", From: 5 * ms},
	), nil).Lanes
	want := []lane{
		{Name: "m1", Master: true},
		{Name: "m2", Master: true, Gaps: []gap{{From: at(5 * ms), To: at(9 * ms)}}},
		{Name: "m3", Master: true},
		{Name: "c2", Lives: []life{
			{Who: "c2", Began: at(1 * ms), Ended: at(5 * ms), Killed: true},
			{Who: "c2.2", Began: at(7 * ms), Ended: never},
		}, Gaps: []gap{{From: at(2 * ms), To: at(4 * ms)}}},
		{
			Name: "c1", Lives: []life{{Who: "c1", Began: at(2 * ms), Ended: at(8 * ms), Skew: at(time.Hour)}},
			Gaps: []gap{{From: at(3 * ms), To: at(6 * ms), Stopped: true}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("lanes = %+v, want %+v", got, want)
	}
	for who, want := range map[string]string{"c2": "c2", "c2.12": "c2", "host.example": "host.example", "c2.": "c2"} {
		check.Equal(t, laneOf(who), want, "laneOf(%q)", who)
	}
}

func TestHandOffs(t *testing.T) {
	for name, test := range map[string]struct {
		play func(*script)
		want []handOff
	}{
		"to one who waited": {
			play: func(s *script) {
				s.hold("c1", 1, history.Lock, "a", 10, 20, 50)
				s.hold("c2", 1, history.Lock, "a", 30, 52, 60)
			},
			want: []handOff{{From: 0, To: 1}},
		},
		"not to one who came later": {
			play: func(s *script) {
				s.hold("c1", 1, history.Lock, "a", 10, 20, 50)
				s.hold("c2", 1, history.Lock, "a", 51, 52, 60)
			},
		},
		"not of another name": {
			play: func(s *script) {
				s.hold("c1", 1, history.Lock, "a", 10, 20, 50)
				s.hold("c2", 1, history.Lock, "b", 30, 52, 60)
			},
		},
		"not to a try": {
			play: func(s *script) {
				s.hold("c1", 1, history.Lock, "a", 10, 20, 50)
				s.hold("c2", 1, history.TryLock, "a", 49, 52, 60)
			},
		},
		"not a third of the lease later": {
			play: func(s *script) {
				s.hold("c1", 1, history.Lock, "a", 10, 20, 50)
				s.hold("c2", 1, history.Lock, "a", 30, 384, 390)
			},
		},
		"once": {
			play: func(s *script) {
				s.hold("c1", 1, history.Lock, "a", 10, 20, 50)
				s.hold("c2", 1, history.Lock, "a", 30, 52, 0)
				s.hold("c3", 1, history.Lock, "a", 31, 70, 80)
			},
			want: []handOff{{From: 0, To: 1}},
		},
		"to several readers, and from the last": {
			play: func(s *script) {
				s.hold("c1", 1, history.Lock, "a", 10, 20, 50)
				s.hold("c2", 1, history.RLock, "a", 30, 52, 60)
				s.hold("c3", 1, history.RLock, "a", 31, 53, 70)
				s.hold("c4", 1, history.Lock, "a", 32, 72, 80)
			},
			want: []handOff{{0, 1}, {0, 2}, {2, 3}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var s script
			test.play(&s)
			if got := drawn(t, of(t, s.events...), nil).HandOffs; !reflect.DeepEqual(got, test.want) {
				t.Errorf("hand-offs = %v, want %v", got, test.want)
			}
		})
	}
}

func TestMarks(t *testing.T) {
	var s script
	s.hold("c1", 1, history.Lock, "a", 10, 20, 90)
	s.hold("c2", 1, history.Lock, "b", 11, 21, 90)
	s.add(history.Event{At: 30 * ms, What: history.Accepted, Who: "c2", Hold: 1, Do: history.Writing, Value: 5})
	s.add(history.Event{At: 31 * ms, What: history.Accepted, Who: "c1", Hold: 1, Do: history.PlainWriting, Value: 6})
	s.add(history.Event{At: 40 * ms, What: history.Called, Who: "c1", Call: 7, Do: history.Extend, Hold: 1})
	s.add(history.Event{At: 41 * ms, What: history.Returned, Who: "c1", Call: 7})
	s.add(history.Event{At: 42 * ms, What: history.Called, Who: "c1", Call: 8, Do: history.Extend, Hold: 1})
	s.add(history.Event{At: 43 * ms, What: history.Returned, Who: "c1", Call: 8, Err: history.NoQuorum})
	s.add(history.Event{At: 50 * ms, What: history.Alive, Who: "c1", Hold: 1, Until: 1025 * ms}) // the same, or nearly
	s.add(history.Event{At: 60 * ms, What: history.Alive, Who: "c1", Hold: 1, Until: 1060 * ms})
	s.add(history.Event{At: 200 * ms, What: history.Refused, Who: "c1", Hold: 1, Do: history.Writing, Value: 7})
	s.add(history.Event{At: 201 * ms, What: history.Refused, Who: "nobody", Hold: 1, Do: history.Writing, Value: 8})
	got := drawn(t, of(t, s.events...), nil).Marks
	want := []mark{
		{Bar: 1, At: at(30 * ms), What: "accepted", Value: 5},
		{Bar: 0, At: at(31 * ms), What: "plain", Value: 6},
		{Bar: 0, At: at(41 * ms), What: "extended"},
		{Bar: 0, At: at(43 * ms), What: "not extended"},
		{Bar: 0, At: at(60 * ms), What: "renewed"},
		{Bar: 0, At: at(200 * ms), What: "refused", Value: 7},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("marks = %+v, want %+v", got, want)
	}
}

// A fault is on each lane that it names, or on all masters, and beside others at the same time.
func TestFaults(t *testing.T) {
	p := drawn(t, of(t,
		history.Event{At: 1 * ms, What: history.Started, Who: "c2.2"},
		history.Event{At: 10 * ms, What: history.Fault, ID: 1, Fault: "cut-client", On: []string{"m2", "c2.2", "c2", "nobody"}, Text: "both ways"},
		history.Event{At: 20 * ms, What: history.Fault, ID: 2, Fault: "flushall", Forgets: true},
		history.Event{At: 20 * ms, What: history.Mended, ID: 2},
		history.Event{At: 30 * ms, What: history.Mended, ID: 1},
		history.Event{At: 30 * ms, What: history.Fault, ID: 3, Fault: "slow", On: []string{"m2"}},
		history.Event{At: 40 * ms, What: history.Fault, ID: 4, Fault: "clock-back", On: []string{"m3"}},
		history.Event{At: 50 * ms, What: history.Mended, ID: 4, Forgets: true, From: 45 * ms},
	), nil)
	cut := fault{From: at(10 * ms), To: at(30 * ms), Kind: "cut-client", ID: 1, On: []string{"m2", "c2.2", "c2", "nobody"}, Text: "both ways"}
	flush := fault{From: at(20 * ms), To: at(20 * ms), Kind: "flushall", ID: 2, Forgets: true, On: []string{"m1", "m2", "m3"}}
	slow := fault{From: at(30 * ms), To: never, Kind: "slow", ID: 3, On: []string{"m2"}}
	back := fault{From: at(40 * ms), To: at(50 * ms), Kind: "clock-back", ID: 4, Forgets: true, On: []string{"m3"}}
	in := func(f fault, lane, row int) fault { f.Lane, f.Row = lane, row; return f }
	want := []fault{in(cut, 1, 0), in(cut, 3, 0), in(flush, 0, 0), in(flush, 1, 1), in(flush, 2, 0), in(slow, 1, 0), in(back, 2, 0)}
	if !reflect.DeepEqual(p.Faults, want) {
		t.Errorf("faults = %+v, want %+v", p.Faults, want)
	}
	if p.Lanes[1].Above != 2 || p.Lanes[0].Above != 1 {
		t.Errorf("m2 has %d rows of faults and m1 %d, want 2 and 1", p.Lanes[1].Above, p.Lanes[0].Above)
	}
	if p.Run.Faults != 4 || p.Run.Kinds != 4 {
		t.Errorf("the header counts %d faults of %d kinds, want 4 of 4", p.Run.Faults, p.Run.Kinds)
	}
}

// A violation marks what its events name, and lasts as long as they do.
func TestViolations(t *testing.T) {
	var s script
	s.hold("c1", 1, history.Lock, "a", 10, 20, 90)
	s.hold("c2", 1, history.Lock, "a", 11, 21, 80)
	s.add(history.Event{At: 30 * ms, What: history.Called, Who: "c1", Call: 2, Do: history.TryLock, Names: []string{"a"}})
	s.add(history.Event{At: 31 * ms, What: history.Returned, Who: "c1", Call: 2, Err: history.Unknown})
	h := of(t, s.events...)
	violations := []history.Violation{
		{Check: "exclusion", At: 21 * ms, Text: "two", Events: []history.Event{
			{At: 20 * ms, What: history.Granted, Who: "c1", Hold: 1},
			{At: 21 * ms, What: history.Granted, Who: "c2", Hold: 1},
			{At: 60 * ms, What: history.Alive, Who: "c1", Hold: 1},
		}},
		{Check: "errors", At: 31 * ms, Text: "odd", Events: []history.Event{{At: 31 * ms, What: history.Returned, Who: "c1", Call: 2}}},
		{Check: "turns", At: 91 * ms, Text: "late", Events: []history.Event{{At: 11 * ms, What: history.Called, Who: "c2", Call: 1}}},
		{Check: "left", At: 95 * ms, Text: "a key", Unpromised: "why", Events: []history.Event{{At: 95 * ms, What: history.Audited, Who: "m3"}}},
	}
	got := drawn(t, h, violations).Violations
	want := []violation{
		{Check: "exclusion", Text: "two", At: at(21 * ms), From: at(20 * ms), To: at(60 * ms), Bars: []int{0, 1}, Waits: []int{}, Lanes: []int{3, 4}},
		{Check: "errors", Text: "odd", At: at(31 * ms), From: at(31 * ms), To: at(31 * ms), Bars: []int{}, Waits: []int{0}, Lanes: []int{3}},
		{Check: "turns", Text: "late", At: at(91 * ms), From: at(11 * ms), To: at(91 * ms), Bars: []int{1}, Waits: []int{}, Lanes: []int{4}},
		{Check: "left", Text: "a key", Unpromised: "why", At: at(95 * ms), From: at(95 * ms), To: at(95 * ms), Bars: []int{}, Waits: []int{}, Lanes: []int{2}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("violations = %+v, want %+v", got, want)
	}
	if drawn(t, h, nil).Violations != nil || drawn(t, h, []history.Violation{}).Violations == nil {
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
	if !slices.Equal(got, want) {
		t.Errorf("the folder has %v, the page %v", got, want)
	}
}
