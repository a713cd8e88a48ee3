package picture

import (
	"embed"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"strings"

	"example.com/redlock/internal/history"
)

//go:embed page
var parts embed.FS

// scripts are the parts of the page's script, in the order in which they need one another.
var scripts = []string{
	"math.js", "data.js", "look.js", "layout.js", "draw.js", "holds.js", "rail.js", "tip.js", "panel.js", "input.js", "main.js",
}

// Write draws the page. violations is nil where nobody has judged the history: the page then does not
// claim that there are none. The same history gives the same page, byte for byte.
func Write(out io.Writer, h *history.History, violations []history.Violation) error {
	view, err := h.View()
	if err != nil {
		return err
	}
	data, err := json.Marshal(draw(h, view, violations)) // escapes <, > and &, so no text ends the script
	if err != nil {
		return err
	}
	script := strings.Builder{}
	for _, name := range scripts {
		script.WriteString(part(name))
	}
	// Replaces in one pass, so what is put in is not searched for more.
	_, err = strings.NewReplacer(
		"{{title}}", html.EscapeString(h.Run.Title),
		"{{style}}", part("page.css"),
		"{{data}}", string(data),
		"{{script}}", script.String(),
	).WriteString(out, part("page.html"))
	return err
}

// part returns a file of the page.
func part(name string) string {
	text, err := parts.ReadFile("page/" + name)
	if err != nil {
		panic(fmt.Sprintf("picture: %v", err)) // it is embedded
	}
	return string(text)
}
