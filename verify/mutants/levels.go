package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"example.com/redlock/internal/beside"
	"example.com/redlock/internal/overlay"
)

// levels are what -levels asks about each patch, whatever its own catchers are: how much does each
// kind of check add to the others?
var levels = []catcher{
	{pkg: "quorum"},
	{pkg: "clock"},
	{pkg: "node/script"},
	{pkg: "multilock/protocol"},
	{pkg: "node"},
	{pkg: "multilock"},
	{pkg: "redlock"},
	{pkg: "model"},
	{"node", "TestSim"},
	{"redlock", "TestSim"},
}

// seenFile has a line for each patch that was asked about: its name, a hash of its changes, and the
// levels, with a plus if they caught it, a minus if not, and a question mark if nothing but their time
// limit did, as on a busy machine. A level that does not have the code that the patch changes is left out.
const seenFile = "verify/mutants/levels.txt"

// seenBy is a line of seenFile, without the name.
type seenBy struct {
	hash string
	by   []string // with their signs, in the order of levels
}

func word(sign string, c catcher) string { return sign + strings.ReplaceAll(c.String(), " ", ":") }

func readSeen(root string) (map[string]seenBy, error) {
	text, err := os.ReadFile(filepath.Join(root, seenFile))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	seen := make(map[string]seenBy)
	for line := range strings.Lines(string(text)) {
		if words := strings.Fields(line); len(words) > 1 {
			seen[words[0]] = seenBy{words[1], words[2:]}
		}
	}
	return seen, nil
}

func writeSeen(root string, seen map[string]seenBy) error {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(seen)) {
		fmt.Fprintf(&b, "%s %s %s\n", name, seen[name].hash, strings.Join(seen[name].by, " "))
	}
	return os.WriteFile(filepath.Join(root, seenFile), []byte(b.String()), 0o644)
}

func hashOf(p *patch) string {
	sum := sha256.Sum256(fmt.Append(nil, p.edits))
	return fmt.Sprintf("%x", sum[:4])
}

// codeOf returns the folders of the code that c runs, absolute.
func (l *lab) codeOf(ctx context.Context, c catcher) ([]string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-test", "-f", "{{.Dir}}", "./"+c.folder())
	list.Dir = l.root
	out, err := list.Output()
	return strings.Split(string(out), "\n"), err
}

// askLevels asks each of list about those of patches that seenFile does not have as they are.
func (l *lab) askLevels(ctx context.Context, patches []*patch, list []catcher, workers int) error {
	seen, err := readSeen(l.root)
	if err != nil {
		return err
	}
	if patches = slices.DeleteFunc(patches, func(p *patch) bool { return seen[p.name].hash == hashOf(p) }); len(patches) == 0 {
		return nil
	}
	if err := l.control(ctx, []*patch{{by: list}}, workers); err != nil {
		return err
	}
	code := make(map[catcher][]string)
	for _, c := range list {
		if code[c], err = l.codeOf(ctx, c); err != nil {
			return fmt.Errorf("go list ./%s: %w", c.pkg, err)
		}
	}
	var mu sync.Mutex
	var failed []error
	beside.Each(patches, workers, func(p *patch) {
		asked := &patch{name: p.name, edits: p.edits}
		for _, c := range list {
			if slices.ContainsFunc(p.edits, func(e overlay.Edit) bool {
				return slices.Contains(code[c], filepath.Join(l.root, filepath.FromSlash(path.Dir(e.File))))
			}) {
				asked.by = append(asked.by, c)
			}
		}
		results, err := l.try(ctx, asked)
		mu.Lock()
		defer mu.Unlock()
		if err == nil {
			line := seenBy{hash: hashOf(p)}
			for _, r := range results {
				sign := "+"
				if r.who == "" {
					sign = "-"
				} else if strings.HasSuffix(r.who, byTimeLimit) {
					sign = "?"
				}
				line.by = append(line.by, word(sign, r.by))
				fmt.Printf("%-40s %s\n", p.name, r)
			}
			seen[p.name] = line
			err = writeSeen(l.root, seen)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", p.name, err))
		}
	})
	return errors.Join(failed...)
}

// levelsTable sums up what the levels saw.
func levelsTable(seen map[string]seenBy) string {
	asked, alone, none := make(map[string]int), make(map[string]int), 0
	for _, s := range seen {
		var caught []string
		for _, by := range s.by {
			asked[by]++
			if by[0] == '+' {
				caught = append(caught, by)
			}
		}
		switch len(caught) {
		case 0:
			none++
		case 1:
			alone[caught[0]]++
		}
	}
	var b strings.Builder
	b.WriteString("| check | patches of its code | caught | caught by no other |\n|---|---|---|---|\n")
	for _, c := range levels {
		yes, no := word("+", c), word("-", c)
		fmt.Fprintf(&b, "| `%s` | %d | %d | %d |\n", c, asked[yes]+asked[no]+asked[word("?", c)], asked[yes], alone[yes])
	}
	fmt.Fprintf(&b, "\n%d patches were tried, and %d are caught by none of these.\n", len(seen), none)
	return b.String()
}
