package protocol

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write STATES.md")

// STATES.md draws the tables.
//
//	go test ./multilock/protocol -run TestPicture -update
func TestPicture(t *testing.T) {
	const page = "STATES.md"
	was, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	contender := []string{"[*] --> idle"}
	for _, a := range Arrows {
		contender = append(contender, fmt.Sprintf("%v --> %v: %s", a.From, a.To, a.Why))
	}
	contender = append(contender, "taken --> [*]", "failed --> [*]")
	hold := []string{"[*] --> short: handed off", "[*] --> valid: granted"}
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
