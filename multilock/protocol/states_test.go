package protocol

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the pictures of docs/algorithm.md")

// The pictures of the states in docs/algorithm.md are those of the tables.
//
//	go test ./multilock/protocol -run TestPicture -update
func TestPicture(t *testing.T) {
	const page = "../../docs/algorithm.md"
	was, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	contender := []string{"[*] --> idle"}
	for _, a := range Arrows {
		contender = append(contender, fmt.Sprintf("%v --> %v: %s", a.From, a.To, a.Why))
	}
	contender = append(contender, "taken --> [*]", "failed --> [*]")
	hold := []string{"[*] --> short: handed off, or other slots as well", "[*] --> valid: granted"}
	for _, a := range HoldArrows {
		hold = append(hold, fmt.Sprintf("%v --> %v: %s", a.From, a.To, a.Why))
	}
	hold = append(hold, "expired --> [*]", "lost --> [*]", "released --> [*]")
	text := picture(t, picture(t, string(was), "contender", contender), "hold", hold)
	if text == string(was) {
		return
	}
	if !*update {
		t.Fatalf("%s shows other states than the tables; -update writes them", page)
	}
	if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// picture replaces the picture of a name in text.
func picture(t *testing.T, text, name string, lines []string) string {
	t.Helper()
	begin, end := "<!-- states: "+name+" -->\n", "<!-- /states -->\n"
	before, rest, ok := strings.Cut(text, begin)
	_, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("no %q with its %q", begin, end)
	}
	return before + begin + "```mermaid\nstateDiagram-v2\n    " + strings.Join(lines, "\n    ") + "\n```\n" + end + after
}

// Each state has a name of its own, an arrow that comes in and, unless it is an end, one that goes
// out; and no arrow is there twice.
func TestTables(t *testing.T) {
	type arrow struct{ from, to fmt.Stringer }
	check := func(t *testing.T, states []fmt.Stringer, begins, ends string, arrows []arrow) {
		in, out, seen := map[string]int{}, map[string]int{}, map[string]bool{}
		for _, a := range arrows {
			name := fmt.Sprint(a.from, " to ", a.to)
			if seen[name] || a.from == a.to {
				t.Errorf("%s is there twice, or goes nowhere", name)
			}
			seen[name] = true
			out[a.from.String()]++
			in[a.to.String()]++
		}
		names := map[string]bool{}
		for _, s := range states {
			name := s.String()
			if names[name] || name == "" {
				t.Errorf("%q is the name of two states", name)
			}
			names[name] = true
			if first := strings.Contains(begins, name); !first && in[name] == 0 {
				t.Errorf("no arrow leads to %s", name)
			}
			if last := strings.Contains(ends, name); last != (out[name] == 0) {
				t.Errorf("%d arrows lead out of %s, which is an end: %v", out[name], name, last)
			}
		}
	}
	t.Run("contender", func(t *testing.T) {
		var all []fmt.Stringer
		for s := range states {
			all = append(all, s)
			if over := (&Contender{State: s}).Over(); over != (s == Taken || s == Failed) {
				t.Errorf("%v is over: %v", s, over)
			}
		}
		var arrows []arrow
		for _, a := range Arrows {
			arrows = append(arrows, arrow{a.From, a.To})
		}
		check(t, all, "idle", "taken failed", arrows)
	})
	t.Run("hold", func(t *testing.T) {
		var all []fmt.Stringer
		for s := range holdStates {
			all = append(all, s)
			if live := (&Hold{State: s}).Live(); live != (s == Short || s == Valid) {
				t.Errorf("%v is live: %v", s, live)
			}
		}
		var arrows []arrow
		for _, a := range HoldArrows {
			arrows = append(arrows, arrow{a.From, a.To})
		}
		check(t, all, "short valid", "expired lost released", arrows)
	})
}
