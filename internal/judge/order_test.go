package judge

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/history"
)

func TestOrder(t *testing.T) {
	try(t, order, []sentence{
		{"of two who waited", `
			c1: 1.0 lock a, 1.3 grant token=6 until=3, 1.4 alive
			c2: 1.0 lock a, 1.1 grant token=5 until=3, 1.2 alive`, ""},
		{"the later of two who waited has the smaller token", `
			c1: 1.0 lock a, >1.3 grant token=4 until=3, >1.4 alive
			c2: 1.0 lock a, >1.1 grant token=5 until=3, 1.2 alive
			c3: 1.5 lock a, 1.6 grant token=6 until=3, 1.7 alive`, "c2 (token 5) and c1 (token 4)"},
		{"the later of two was told late that it had it", `
			c1: 1.0 lock a, 1.3 grant token=4 until=1.05
			c2: 1.0 lock a, 1.1 grant token=5 until=3, 1.2 alive`, ""},
		{"two at a time", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3, >1.4 alive
			c2: 1.2 lock a, >1.3 grant token=6 until=3, 1.5 alive`, "c1 (token 5) and c2 (token 6)"},
		{"a smaller token after the first was given back", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3, 1.1 alive
			c2: >1.2 lock a, >1.3 grant token=4 until=3, 1.4 alive`, "c1 (token 5) and c2 (token 4)"},
		{"a reader after two writers", `
			c3: 1.0 rlock a, 1.3 grant token=5 shared until=3, 1.5 alive
			c1: 1.0 lock a, 1.1 grant token=5 until=3, 1.2 alive
			c4: 1.3 rlock a, 1.4 grant token=5 shared until=3, 1.5 alive
			c2: 1.4 lock a, 1.6 grant token=6 until=3, 1.7 alive`, ""},
		{"a reader with the token of the writer before the last", `
			c3: 1.0 rlock a, >1.5 grant token=5 shared until=3, >1.6 alive
			c1: 1.0 lock a, 1.1 grant token=5 until=3, 1.2 alive
			c2: 1.2 lock a, >1.3 grant token=6 until=3, 1.4 alive`, "c2 (token 6) and c3 (token 5)"},
		{"a downgrade", `
			c1: 1.0 lock a, 1.1 grant token=5 until=3, 1.3 downgrade, 1.5 alive
			c2: 1.2 rlock a, 1.4 grant token=5 shared until=3, 1.6 alive`, ""},
		{"a reader before the downgrade", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3, 1.4 downgrade, >1.5 alive
			c2: 1.2 rlock a, >1.3 grant token=5 shared until=3, 1.5 alive`, "c1 (token 5) and c2 (token 5)"},
		{"two whom nobody promised to exclude", `
			c1: 1.0 lock a, 1.1 grant token=5 until=3, 1.5 alive
			r: 1.2 fault flushall on=m1 forgets
			c2: 1.3 lock a, 1.4 grant token=6 until=3, 1.5 alive`, ""},
		{"but their tokens", `
			c1: 1.0 lock a, >1.1 grant token=5 until=3, 1.5 alive
			r: >1.2 fault flushall on=m1 forgets
			c2: >1.3 lock a, >1.4 grant token=4 until=3, 1.5 alive`, "c1 (token 5) and c2 (token 4)"},
		{"a fault before the first in the order was told of its hold", `
			c1: 1.0 lock a, 1.3 grant token=5 until=3, 1.4 alive
			c2: 1.0 lock a, 1.1 grant token=6 until=3, 1.4 alive
			r: 1.2 fault flushall on=m1 forgets`, ""},
	})
}

// TestOrderWithoutTokens: a library that has none can still let in two at a time.
func TestOrderWithoutTokens(t *testing.T) {
	r := story(`
			c1: 1.0 lock a, 1.1 grant until=3, 1.2 alive, 2.0 lock a, 2.1 grant until=4, 2.3 alive
			c2: 1.0 lock a, 1.3 grant until=3, 1.4 alive, 2.0 lock a, 2.2 grant until=4, 2.3 alive`).record(t)
	r.Run.Tokens = false
	if got := order(r); len(got.Violations) != 1 || got.Violations[0].At != seconds(t, "2.2") {
		t.Errorf("got\n%swant one at 2.2 s", show(got.Violations))
	}
}

// TestOrderOfMany: what is wrong is found in each window, and told once.
func TestOrderOfMany(t *testing.T) {
	const n = 3 * windowSize
	wrong := map[int]bool{3: true, windowSize - 5: true, windowSize: true, windowSize + 3: true, 2*windowSize + 7: true}
	var lines strings.Builder
	for i := range n {
		at, token := 1+float64(i)/10, 10*i
		if wrong[i] {
			token -= 15
		}
		fmt.Fprintf(&lines, "c1: %.3f lock a, %.3f grant token=%d, %.3f alive\n", at, at+.01, 100+token, at+.02)
	}
	got := order(story(lines.String()).record(t))
	if len(got.Violations) != len(wrong) || got.Looked != n {
		t.Errorf("looked at %d, want %d; got\n%swant %d", got.Looked, n, show(got.Violations), len(wrong))
	}
	for _, v := range got.Violations {
		if !wrong[v.Events[len(v.Events)-1].Hold-1] || len(v.Events) != 3 {
			t.Errorf("got\n%s", show([]history.Violation{v}))
		}
	}
}

// TestOrderGivesUp: what is left of a window in which too much is wrong has not passed.
func TestOrderGivesUp(t *testing.T) {
	var lines strings.Builder
	for i := range maxPerWindow + 2 { // each token is smaller than that before
		at := 1 + float64(i)/10
		fmt.Fprintf(&lines, "c1: %.3f lock a, %.3f grant token=%d, %.3f alive\n", at, at+.01, 100-i, at+.02)
	}
	got := order(story(lines.String()).record(t)).Violations
	if len(got) != maxPerWindow+1 || !strings.Contains(got[maxPerWindow].Text, "gave up") || got[maxPerWindow].At != seconds(t, "1.01") {
		t.Errorf("got %d violations, want %d and that the judge gave up:\n%s", len(got), maxPerWindow, show(got))
	}
}

// TestPatience: a history with too many orders to look at all of them in time has not passed.
func TestPatience(t *testing.T) {
	defer func(usual time.Duration) { patience = usual }(patience)
	patience = 20 * time.Millisecond
	var lines strings.Builder
	for i := range 40 {
		fmt.Fprintf(&lines, "c%d: 1.%02d lock a, 2.%02d grant token=5 until=2.9\n", i, i, i)
	}
	r := story(lines.String() + `
		d1: 3.0 lock a, 3.1 grant token=5 until=5, 3.4 alive
		d2: 3.2 lock a, 3.3 grant token=5 until=5, 3.4 alive`).record(t)
	r.Run.Tokens = false
	got := order(r).Violations
	if len(got) != 1 || !strings.Contains(got[0].Text, "gave up") || got[0].At != 2*time.Second || len(got[0].Events) != 1 {
		t.Errorf("got\n%swant that the judge gave up at 2 s", show(got))
	}
}
