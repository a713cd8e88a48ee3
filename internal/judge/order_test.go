package judge

import (
	"fmt"
	"strings"
	"testing"

	"example.com/redlock/internal/history"
)

func TestOrder(t *testing.T) {
	try(t, order, []sentence{
		{"of two who waited", `
			1.0 c1 call 1 lock a
			1.0 c2 call 1 lock a
			1.1 c2 grant 1 a token=5 until=3
			1.2 c2 alive 1 until=3
			1.3 c1 grant 1 a token=6 until=3
			1.4 c1 alive 1 until=3`, "", false},
		{"the later of two who waited has the smaller token", `
			  1.0 c1 call 1 lock a
			  1.0 c2 call 1 lock a
			> 1.1 c2 grant 1 a token=5 until=3
			  1.2 c2 alive 1 until=3
			> 1.3 c1 grant 1 a token=4 until=3
			> 1.4 c1 alive 1 until=3
			  1.5 c3 call 1 lock a
			  1.6 c3 grant 1 a token=6 until=3
			  1.7 c3 alive 1 until=3`, "c2 (token 5) and c1 (token 4)", false},
		{"the later of two was told late that it had it", `
			1.0 c1 call 1 lock a
			1.0 c2 call 1 lock a
			1.1 c2 grant 1 a token=5 until=3
			1.2 c2 alive 1 until=3
			1.3 c1 grant 1 a token=4 until=1.05`, "", false},
		{"two at a time", `
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a token=5 until=3
			  1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a token=6 until=3
			> 1.4 c1 alive 1 until=3
			  1.5 c2 alive 1 until=3`, "c1 (token 5) and c2 (token 6)", false},
		{"a smaller token after the first was given back", `
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a token=5 until=3
			  1.1 c1 alive 1 until=3
			> 1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a token=4 until=3
			  1.4 c2 alive 1 until=3`, "c1 (token 5) and c2 (token 4)", false},
		{"a reader after two writers", `
			1.0 c3 call 1 rlock a
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a token=5 until=3
			1.2 c1 alive 1 until=3
			1.3 c3 grant 1 a token=5 shared until=3
			1.3 c4 call 1 rlock a
			1.4 c4 grant 1 a token=5 shared until=3
			1.4 c2 call 1 lock a
			1.5 c3 alive 1 until=3
			1.5 c4 alive 1 until=3
			1.6 c2 grant 1 a token=6 until=3
			1.7 c2 alive 1 until=3`, "", false},
		{"a reader with the token of the writer before the last", `
			  1.0 c3 call 1 rlock a
			  1.0 c1 call 1 lock a
			  1.1 c1 grant 1 a token=5 until=3
			  1.2 c1 alive 1 until=3
			  1.2 c2 call 1 lock a
			> 1.3 c2 grant 1 a token=6 until=3
			  1.4 c2 alive 1 until=3
			> 1.5 c3 grant 1 a token=5 shared until=3
			> 1.6 c3 alive 1 until=3`, "c2 (token 6) and c3 (token 5)", false},
		{"a downgrade", `
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a token=5 until=3
			1.2 c2 call 1 rlock a
			1.3 c1 call 2 downgrade hold=1
			1.4 c2 grant 1 a token=5 shared until=3
			1.5 c1 alive 1 until=3
			1.6 c2 alive 1 until=3`, "", false},
		{"a reader before the downgrade", `
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a token=5 until=3
			  1.2 c2 call 1 rlock a
			> 1.3 c2 grant 1 a token=5 shared until=3
			  1.4 c1 call 2 downgrade hold=1
			> 1.5 c1 alive 1 until=3
			  1.5 c2 alive 1 until=3`, "c1 (token 5) and c2 (token 5)", false},
		{"two whom nobody promised to exclude", `
			1.0 c1 call 1 lock a
			1.1 c1 grant 1 a token=5 until=3
			1.2 r  fault 1 flushall on=m1 forgets
			1.3 c2 call 1 lock a
			1.4 c2 grant 1 a token=6 until=3
			1.5 c1 alive 1 until=3
			1.5 c2 alive 1 until=3`, "", false},
		{"but their tokens", `
			  1.0 c1 call 1 lock a
			> 1.1 c1 grant 1 a token=5 until=3
			> 1.2 r  fault 1 flushall on=m1 forgets
			> 1.3 c2 call 1 lock a
			> 1.4 c2 grant 1 a token=4 until=3
			  1.5 c1 alive 1 until=3
			  1.5 c2 alive 1 until=3`, "c1 (token 5) and c2 (token 4)", false},
		{"a fault before the first in the order was told of its hold", `
			1.0 c1 call 1 lock a
			1.0 c2 call 1 lock a
			1.1 c2 grant 1 a token=6 until=3
			1.2 r  fault 1 flushall on=m1 forgets
			1.3 c1 grant 1 a token=5 until=3
			1.4 c1 alive 1 until=3
			1.4 c2 alive 1 until=3`, "", false},
	})
}

// TestOrderWithoutTokens: a library that has none can still let in two at a time.
func TestOrderWithoutTokens(t *testing.T) {
	h, _ := story(`
		1.0 c1 call 1 lock a
		1.0 c2 call 1 lock a
		1.1 c1 grant 1 a until=3
		1.2 c1 alive 1 until=3
		1.3 c2 grant 1 a until=3
		1.4 c2 alive 1 until=3
		2.0 c1 call 2 lock a
		2.0 c2 call 2 lock a
		2.1 c1 grant 2 a until=4
		2.2 c2 grant 2 a until=4
		2.3 c1 alive 2 until=4
		2.3 c2 alive 2 until=4`).read(t)
	h.Run.Tokens = false
	r, err := newRecord(h)
	if err != nil {
		t.Fatal(err)
	}
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
		fmt.Fprintf(&lines, "%.3f c1 call %d lock a\n%.3f c1 grant %d a token=%d\n%.3f c1 alive %d\n", at, i+1, at+.01, i+1, 100+token, at+.02, i+1)
	}
	h, _ := story(lines.String()).read(t)
	r, err := newRecord(h)
	if err != nil {
		t.Fatal(err)
	}
	got := order(r)
	if len(got.Violations) != len(wrong) || got.Looked != n {
		t.Errorf("looked at %d, want %d; got\n%swant %d", got.Looked, n, show(got.Violations), len(wrong))
	}
	for _, v := range got.Violations {
		if !wrong[number(t, fmt.Sprint(v.Events[len(v.Events)-1].Hold))-1] || len(v.Events) != 3 {
			t.Errorf("got\n%s", show([]history.Violation{v}))
		}
	}
}

// TestOrderGivesUp: what is left of a window in which too much is wrong has not passed.
func TestOrderGivesUp(t *testing.T) {
	var lines strings.Builder
	for i := range maxPerWindow + 2 { // each token is smaller than that before
		at := 1 + float64(i)/10
		fmt.Fprintf(&lines, "%.3f c1 call %d lock a\n%.3f c1 grant %d a token=%d\n%.3f c1 alive %d\n", at, i+1, at+.01, i+1, 100-i, at+.02, i+1)
	}
	h, _ := story(lines.String()).read(t)
	r, err := newRecord(h)
	if err != nil {
		t.Fatal(err)
	}
	got := order(r).Violations
	if len(got) != maxPerWindow+1 || !strings.Contains(got[maxPerWindow].Text, "gave up") || got[maxPerWindow].At != seconds(t, "1.01") {
		t.Errorf("got %d violations, want %d and that the judge gave up:\n%s", len(got), maxPerWindow, show(got))
	}
}
