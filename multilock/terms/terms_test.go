package terms

import (
	"errors"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/check"
	"example.com/redlock/node/script"
)

// termsOf returns the terms of a client of masters: each is its run id and perhaps, behind a slash, its
// database, and behind an @, its address. A run id "?" is not known; one with an exclamation mark is young, and one
// with a tilde is gone.
func termsOf(masters string) Terms {
	t := Terms{Lease: 30_000, Guard: 30_000}
	for word := range strings.FieldsSeq(masters) {
		run, address, _ := strings.Cut(word, "@")
		run, young := strings.CutSuffix(run, "!")
		run, gone := strings.CutSuffix(run, "~")
		run, number, _ := strings.Cut(run, "/")
		db, _ := strconv.Atoi(number)
		if run == "?" {
			run = ""
		}
		t.Masters = append(t.Masters, Master{Run: run, DB: db, Address: strings.ReplaceAll(address, "_", " "), Young: young, Gone: gone})
	}
	return t
}

// TestConflict: what two clients may not do at the same time, whoever asks.
func TestConflict(t *testing.T) {
	with := func(masters, part string, lease, guard int64) Terms {
		t := termsOf(masters)
		t.Part, t.Lease, t.Guard = part, lease, guard
		return t
	}
	stores := func(layout int, masters string) Terms {
		t := termsOf(masters)
		t.Layout = layout
		return t
	}
	for _, tt := range []struct {
		name string
		a, b Terms
		want error
	}{
		{"the same", termsOf("a b c"), termsOf("c a b"), nil},
		{"one fewer", termsOf("a b c"), termsOf("a b"), nil},
		{"one more", termsOf("a b c"), termsOf("a b c d"), nil},
		{"another in place of one", termsOf("a b c"), termsOf("a b d"), ErrOverlap},
		{"one in common", termsOf("a b c"), termsOf("c d e"), ErrOverlap},
		{"a minority of the masters", termsOf("a b c"), termsOf("a"), ErrOverlap},
		{"one that is not connected", termsOf("a b c"), termsOf("a b ?"), nil},
		{"one that is not connected is not two", termsOf("a b c"), termsOf("a ? d"), ErrOverlap},
		{"one restarted", termsOf("a b c!"), termsOf("a b d"), nil},
		{"one is not connected, whatever its address", termsOf("a@1 b@2 c@3"), termsOf("a@1 b@2 ?@4"), nil},
		{"one restarted where it was", termsOf("a@1 b@2 c!@3"), termsOf("a@1 b@2 d@3"), nil},
		{"one is dead, and another began elsewhere", termsOf("a@1 b@2 c!@3"), termsOf("a@1 b@2 d@4"), ErrOverlap},
		{"all restarted, and one client has addresses of its own machine", termsOf("a@1 b@2 c@3"), termsOf("d!@7_on_me e!@8_on_me f!@9_on_me"), nil},
		{"all restarted, and so do they", termsOf("a@1_on_me b@2_on_me c@3_on_me"), termsOf("d!@1_on_it e!@2_on_it f!@4_on_it"), nil},
		{"one is long gone, and another one is elsewhere", termsOf("a@1 b@2 c~@3"), termsOf("a@1 b@2 d@4"), ErrOverlap},
		{"one is long gone, and restarted where it was", termsOf("a@1 b@2 c~@3"), termsOf("a@1 b@2 d@3"), nil},
		{"one is long gone for one client alone", termsOf("a@1 b@2 c~@3"), termsOf("a@1 b@2 c@4"), nil},
		{"another process at an address, for long", termsOf("a@1 b@2 c@3"), termsOf("a@1 b@2 d@3"), ErrOverlap},
		{"other addresses of the same", termsOf("a@1 b@2 c@3"), termsOf("a@4 b@5 c@6"), nil},
		{"other databases of two", termsOf("a b c"), termsOf("a b/1 c/1"), ErrOverlap},
		{"a database that is not known", termsOf("a b c"), termsOf("a b/-1 c/-1"), nil},
		{"two of several sets", with("a b c", "1", 30, 30), with("c d e", "2", 99, 99), nil},
		{"one of several sets, twice", with("a b c", "1", 30, 30), with("c d e", "1", 30, 30), ErrOverlap},
		{"one of several sets, and a client alone", with("a b c", "1", 30, 30), with("c d e", "", 30, 30), ErrOverlap},
		{"a guard that is raised first", with("a b c", "", 30, 30), with("a b c", "", 30, 300), nil},
		{"then the leases", with("a b c", "", 30, 300), with("a b c", "", 300, 300), nil},
		{"both at once", with("a b c", "", 30, 30), with("a b c", "", 300, 300), ErrShortGuard},
		{"shorter leases with a guard of their own", with("a b c", "", 30, 30), with("a b c", "", 10, 10), ErrShortGuard},
		{"shorter leases with the usual guard", with("a b c", "", 30, 30), with("a b c", "", 10, 30), nil},
		{"no guard", with("a b c", "", 30, 30), with("a b c", "", 300, 0), ErrShortGuard},
		{"no guard at all", with("a b c", "", 30, 0), with("a b c", "", 300, 0), nil},
		{"another layout", stores(1, "a b c"), stores(2, "a b c"), ErrLayout},
		{"another layout, whatever the masters", stores(1, "a b c"), stores(2, "c d e"), ErrLayout},
		{"the same layout", stores(2, "a b c"), stores(2, "a b"), nil},
		{"before there was a number", stores(0, "a b c"), stores(2, "a b c"), nil},
		{"before there was a number, with other masters", stores(0, "a b c"), stores(2, "c d e"), ErrOverlap},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for range 2 {
				if got := Conflict(&tt.a, &tt.b); !errors.Is(got, tt.want) || got != nil && tt.want == nil {
					t.Errorf("Conflict(%+v, %+v) = %v, want %v", tt.a, tt.b, got, tt.want)
				}
				tt.a, tt.b = tt.b, tt.a
			}
		})
	}
}

// TestCommon: masters that may be the same are matched so that as many as possible are in common, by
// trying all ways.
func TestCommon(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 0))
	draw := func() Terms {
		words := strings.Fields("a@1 b@2 c@3 d@4 e@1 f@2 ? ?@3 g! h!@4 i!@1 j~@2")
		r.Shuffle(len(words), func(i, j int) { words[i], words[j] = words[j], words[i] })
		return termsOf(strings.Join(words[:1+r.IntN(5)], " "))
	}
	for range 3000 {
		a, b := draw(), draw()
		got, want := common(a.Masters, b.Masters, maySame), mostCommon(a.Masters, b.Masters)
		check.That(t, got == want, "%+v and %+v have %d in common, want %d", a.Masters, b.Masters, got, want)
	}
}

// mostCommon is common, by trying all.
func mostCommon(a, b []Master) (most int) {
	if len(a) == 0 {
		return 0
	}
	most = mostCommon(a[1:], b)
	for j := range b {
		if maySame(&a[0], &b[j]) {
			rest := append(append([]Master(nil), b[:j]...), b[j+1:]...)
			most = max(most, 1+mostCommon(a[1:], rest))
		}
	}
	return most
}

// Clients that spread names over sets go together if they have a list of sets in common, whether it is
// that of now or of next for either of them.
func TestRoutes(t *testing.T) {
	for _, tt := range []struct {
		what string
		a, b [2]string // now, next
		want error
	}{
		{"before, and in the first rollout", [2]string{"a b", ""}, [2]string{"a b", "b c"}, nil},
		{"in the first rollout, and after the second", [2]string{"a b", "b c"}, [2]string{"b c", ""}, nil},
		{"before, and after the second", [2]string{"a b", ""}, [2]string{"b c", ""}, ErrRoute},
		{"forth, and back", [2]string{"a b", "b c"}, [2]string{"b c", "a b"}, nil},
		{"back, and before", [2]string{"b c", "a b"}, [2]string{"a b", ""}, nil},
		{"two who go elsewhere from the same", [2]string{"a b", "b c"}, [2]string{"a b", "b d"}, nil},
		{"one of those has arrived", [2]string{"a b", "b c"}, [2]string{"b d", ""}, ErrRoute},
		{"one set of each", [2]string{"a b", "c"}, [2]string{"a", "b c"}, ErrRoute},
		{"who spreads no names", [2]string{"a b", ""}, [2]string{}, nil},
	} {
		terms := func(route [2]string) *Terms {
			t := &Terms{Now: strings.Fields(route[0]), Next: strings.Fields(route[1]), Masters: []Master{{Run: "1"}}}
			if len(t.Now) > 0 {
				t.Part = t.Now[0]
			}
			return t
		}
		a, b := terms(tt.a), terms(tt.b)
		for range 2 {
			if err := Conflict(a, b); !errors.Is(err, tt.want) || tt.want == nil && err != nil {
				t.Errorf("%s: Conflict(%v, %v) = %v, want %v", tt.what, a.Route(), b.Route(), err, tt.want)
			}
			a, b = b, a
		}
	}
}

// TestSetsElsewhere: what another process says of the set of an ID counts, whichever of its sets says so.
func TestSetsElsewhere(t *testing.T) {
	set := func(id, masters, other, others string) *Terms {
		t := termsOf(masters)
		t.Part, t.Now, t.Others = id, []string{"x", "y"}, map[string][]Master{other: termsOf(others).Masters}
		return &t
	}
	own := set("x", "a b c", "y", "d e f")
	for _, tt := range []struct {
		what  string
		other *Terms
		want  error
	}{
		{"the other set of the same process", set("y", "d e f", "x", "a b c"), nil},
		{"swapped IDs", set("y", "a b c", "x", "d e f"), ErrOverlap},
		{"the ID stands for others", set("y", "d e f", "x", "g h i"), ErrOverlap},
		{"and for one fewer", set("y", "d e f", "x", "a b"), nil},
	} {
		check.Equal(t, Conflict(own, tt.other), tt.want, "%s: Conflict", tt.what)
	}
}

// TestRivals: what a master told long ago does not count, nor what names other masters alone. Neither hides the same terms
// where another master told them lately.
func TestRivals(t *testing.T) {
	own, theirs := termsOf("a b c"), termsOf("b d e")
	now := clock.Now()
	view := func(run string, ago time.Duration) View {
		return View{Master{Run: run}, []script.Use{{Terms: &theirs, Text: theirs.Text(), By: "x"}}, now.Add(-ago)}
	}
	for _, tt := range []struct {
		what  string
		views []View
		want  int // the place of the master that told, -1: none counts
	}{
		{"told lately", []View{view("b", time.Second)}, 0},
		{"told long ago", []View{view("b", time.Hour)}, -1},
		{"told long ago, and lately by another", []View{view("b", time.Hour), view("b", time.Second)}, 1},
		{"told by a master that they do not name", []View{view("a", time.Second)}, -1},
		{"and by one that they name", []View{view("a", time.Second), view("b", time.Second)}, 1},
	} {
		got := -1
		if all := Rivals(&own, tt.views, now); len(all) > 0 {
			got = all[0].Master
		}
		check.Equal(t, got, tt.want, "%s: the master that told of a rival", tt.what)
	}
}
