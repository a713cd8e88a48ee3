package main

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/multilock/attempt"
)

// toy is a graph of words. An edge that costs something is marked with !, one that is cut off with
// ?, and where all is well with *. A state called "bad" is wrong. The order of the letters in a word
// has no say.
type toy map[string]string

func key(word string) []byte {
	letters := []byte(strings.Trim(word, "!?*"))
	slices.Sort(letters)
	return letters
}

func (g toy) edge(word string) edge {
	e := edge{
		key: key(word), free: !strings.Contains(word, "!"), cut: strings.Contains(word, "?"),
		goal: strings.Contains(word, "*"),
	}
	if string(e.key) == string(key("bad")) {
		e.wrong = "bad"
	}
	return e
}

func (g toy) first() edge { return g.edge("start") }

func (g toy) next(from []byte, emit func(edge)) {
	for word, to := range g {
		if string(key(word)) == string(from) {
			for to := range strings.FieldsSeq(to) {
				emit(g.edge(to))
			}
		}
	}
}

func TestSearch(t *testing.T) {
	for _, test := range []struct {
		name   string
		graph  toy
		wrong  string
		states int
		trace  string
	}{
		{"all is well", toy{"start": "a b", "a": "end*", "b": "a"}, "", 4, ""},
		{"a circle", toy{"start": "a", "a": "b", "b": "a end*"}, "", 4, ""},
		{"what is alike is one", toy{"start": "ab ba end*", "ab": "end*"}, "", 3, ""},
		{"an unsafe state, the shortest way", toy{"start": "a b end*", "a": "b", "b": "bad"}, "bad", 5, "arstt b abd"},
		{"an unsafe state behind a fault", toy{"start": "a! end*", "a": "bad"}, "bad", 4, "arstt a abd"},
		{"an unsafe step to a state that is known", toy{"start": "a bad"}, "bad", 3, "arstt abd"},
		{"a trap", toy{"start": "a end*", "a": "b", "b": "a"}, trapped, 4, "arstt a"},
		{"a trap from the start", toy{"start": "a", "a": "start"}, trapped, 2, "arstt"},
		{"a fault is no way out", toy{"start": "a end*", "a": "end!*"}, trapped, 3, "arstt a"},
		{"a fault into a trap", toy{"start": "a! end*", "a": "a"}, trapped, 3, "arstt a"},
		{"cut off", toy{"start": "a end*", "a": "b?"}, cutOff, 3, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := search([]system{test.graph, test.graph}, 100)
			var trace []string
			for _, id := range f.trace {
				trace = append(trace, string(f.store.key(id)))
			}
			if got := strings.Join(trace, " "); f.wrong != test.wrong || f.states != test.states || got != test.trace {
				t.Errorf("%q after %q, %d states; want %q after %q, %d", f.wrong, got, f.states, test.wrong, test.trace, test.states)
			}
		})
	}
}

// TestExpect: steps are counted as chance has them, from the state that is worst.
func TestExpect(t *testing.T) {
	for _, test := range []struct {
		name  string
		graph toy
		want  float64
	}{
		{"two ways", toy{"start": "a end*", "a": "b", "b": "end*"}, 2},
		{"a circle", toy{"start": "a", "a": "b end*", "b": "a"}, 4},
		{"a fault does not help", toy{"start": "a", "a": "b end!*", "b": "a end*"}, 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			f := search([]system{test.graph}, 100)
			if got, _ := f.graph.expect(); math.Abs(got-test.want) > 0.01 {
				t.Errorf("%.2f steps, want %v", got, test.want)
			}
		})
	}
}

// number is a graph without end.
type number struct{}

func (number) first() edge { return edge{key: []byte{0, 0}, goal: true, free: true} }

func (number) next(from []byte, emit func(edge)) {
	n := int(from[0])<<8 + int(from[1])
	for _, to := range []int{2*n + 1, 2*n + 2} {
		emit(edge{key: []byte{byte(to >> 8), byte(to)}, goal: true, free: true})
	}
}

// TestTooManyStates: what was not seen is no verdict.
func TestTooManyStates(t *testing.T) {
	if f := search([]system{number{}}, 9000); f.wrong != cutOff || f.cut == 0 || f.states <= 9000 {
		t.Errorf("%q with %d states, %d left; want %q with some more than 9000", f.wrong, f.states, f.cut, cutOff)
	}
}

// TestSearchTwice: a search finds the same each time, however many work on it.
func TestSearchTwice(t *testing.T) {
	k := Case{Masters: 3, Callers: 2, Delay: 2, Lease: 12, Starts: true, Faults: 1, Kinds: restart}.ready()
	one, two := search([]system{newWorker(k)}, limit), search([]system{newWorker(k), newWorker(k)}, limit)
	check.That(t, one.wrong == "" && one.states >= 10_000, "%q in %d states, want nothing in more than 10000", one.wrong, one.states)
	check.That(t, one.states == two.states && one.depth == two.depth, "%d states, depth %d; then %d, %d", one.states, one.depth, two.states, two.depth)
	for id := range one.store.len() {
		if string(one.store.key(uint32(id))) != string(two.store.key(uint32(id))) {
			t.Fatalf("state %d is another the second time", id)
		}
	}
}

// TestNames: a case is known by its name, and those with teeth are among them.
func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, k := range allCases() {
		check.That(t, !seen[k.Name], "two cases are called %q", k.Name)
		seen[k.Name] = true
		check.That(t, !k.Teeth || !k.Nightly, "%q has teeth, and is searched at night only", k.Name)
	}
	for _, name := range append(slices.Collect(maps.Keys(within)), teeth...) {
		check.That(t, seen[name], "no case is called %q", name)
	}
}

// TestSetsAreSorted: masters that are alike stand together, or states would have keys that lose
// something.
func TestSetsAreSorted(t *testing.T) {
	for _, k := range allCases() {
		seen := map[string]int{}
		for m := range k.Masters {
			in := ""
			for c := range k.Callers {
				if k.has(c, m) {
					in = fmt.Sprint(in, c)
				}
			}
			if last, ok := seen[in]; ok && last != m-1 {
				t.Errorf("%s: masters %d and %d are alike, and another is between them", k.Name, last, m)
			}
			seen[in] = m
		}
	}
}

// TestReport: a small case is all well, and a contender that does what the table of arrows does not
// allow is told, with the way there.
func TestReport(t *testing.T) {
	i := slices.IndexFunc(allCases(), func(k *Case) bool { return k.Name == "lose/two" })
	var out strings.Builder
	if r := (report{to: &out, traces: true}); !r.all(allCases()[i : i+1]) {
		t.Errorf("a small case fails:\n%s", &out)
	}
	old := attempt.Arrows
	defer func() { attempt.Arrows = old }()
	attempt.Arrows = old[:1]
	out.Reset()
	r := report{to: &out, traces: true}
	if r.all(allCases()[i:i+1]) || !strings.Contains(out.String(), noArrow) || !strings.Contains(out.String(), "C0 gets answer of m0 to #1: yes") {
		t.Errorf("want %q and the way there:\n%s", noArrow, &out)
	}
}

// TestKeysLoseNothing walks at random, and has each state and the one that its key makes go on to
// the same states. What is left out of a key has no say.
func TestKeysLoseNothing(t *testing.T) {
	for i, k := range allCases() {
		if k.Nightly {
			continue
		}
		t.Run(k.Name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, uint64(i)))
			walker, reader := newMover(k), newMover(k)
			code := newCoder(k)
			w := k.first()
			for step := range 60 {
				var made World
				key := bytes.Clone(code.write(w))
				w.arrange(k, code.order[:k.Masters])
				code.read(key, &made)
				if again := code.write(&made); !bytes.Equal(again, key) {
					t.Fatalf("step %d: key %x becomes %x", step, key, again)
				}
				next := walker.moves(w)
				want, got := keys(code, next), keys(code, reader.moves(&made))
				if !slices.EqualFunc(want, got, bytes.Equal) {
					t.Fatalf("step %d: %d states follow, and %d follow what the key makes", step, len(want), len(got))
				}
				to := next[r.IntN(len(next))]
				w = new(World)
				to.copyTo(w, k)
			}
		})
	}
}

// keys returns the keys of states, and how they came about, each once.
func keys(code *coder, items []*item) [][]byte {
	var all [][]byte
	for _, it := range items {
		all = append(all, append(bytes.Clone(code.write(&it.World)), b2(it.toll), b2(it.wrong != "")))
	}
	slices.SortFunc(all, bytes.Compare)
	return slices.CompactFunc(all, bytes.Equal)
}
