package main

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/multilock/attempt"

	"example.com/redlock/internal/history"
)

// TestFilm: the picture of a way to two holders shows each caller's call and hold, valid at one moment.
func TestFilm(t *testing.T) {
	unsafe := slices.IndexFunc(allCases(), func(k *Case) bool { return k.Unsafe })
	var text bytes.Buffer
	file := filepath.Join(t.TempDir(), "way.html")
	if r := (report{picture: file}); !r.one(&text, allCases()[unsafe], 1) {
		t.Fatal(text.String())
	}
	page, err := os.ReadFile(file)
	if err != nil || !strings.Contains(string(page), twoHolders) {
		t.Errorf("the page does not say %q: %v", twoHolders, err)
	}
	k := Case{Name: "film", Masters: 1, Callers: 2, Delay: 1, Lease: 12, Pause: 4}.ready()
	f := film{k: k, faults: map[string]int{}}
	w := k.first()
	f.shot(w)
	for _, do := range []func(w *World){
		func(w *World) { w.Callers[0].State, w.Links[0][1].Frozen = attempt.Held, true },
		func(w *World) {
			w.Callers[0].State, w.Callers[0].Why, w.Callers[1].Asleep = attempt.Ended, attempt.Released, true
		},
		func(w *World) { w.Callers[1], w.Links[0][1].Frozen = Caller{Crashed: true}, false },
	} {
		next := new(World)
		*next = *f.before
		next.Now++
		do(next)
		f.shot(next)
	}
	h, err := history.Merge(f.events)
	if err != nil {
		t.Fatal(err)
	}
	view, err := h.View()
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, e := range h.Events[3:] {
		all = append(all, e.Who+" "+string(e.What))
	}
	want := "C0 call, C1 call, C0 grant, C0 return,  fault, C0 call, C0 return, C1 stopped, C1 return, C1 killed,  mended"
	if got := strings.Join(all, ", "); got != want || len(view.Holds) != 1 || view.Holds[0].Unlock == nil {
		t.Errorf("got %s; want %s, and a hold that was given back", got, want)
	}
}
