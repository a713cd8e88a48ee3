package overlay

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// Edit is a change of one file: lines that it has exactly once, and what takes their place.
type Edit struct {
	File     string // slash-separated, below the root that Apply is given
	Old, New string // whole lines; without old ones the file is new
}

// ReadEdits reads edits. Each begins with the name of its file; lines that begin with # are comments:
//
//	@@ quorum/quorum.go
//	# Half of the masters are enough.
//	-func Majority(n int) int { return n/2 + 1 }
//	+func Majority(n int) int { return n / 2 }
//
// Lines with a minus and those with a blank are found, and those with a plus and a blank take their place.
// There are no line numbers: an edit applies for as long as the lines that it finds stay as they are.
func ReadEdits(text string) (edits []Edit, err error) {
	text, begins := strings.CutPrefix(text, "@@ ")
	if !begins {
		return nil, errors.New("there is no edit")
	}
	for change := range strings.SplitSeq(text, "\n@@ ") {
		file, lines, _ := strings.Cut(change, "\n")
		e := Edit{File: strings.TrimSpace(file)}
		for line := range strings.Lines(strings.TrimRight(lines, "\n") + "\n") {
			if line == "\n" {
				line = " \n" // as editors leave it
			}
			switch line[0] {
			case '-':
				e.Old += line[1:]
			case '+':
				e.New += line[1:]
			case ' ':
				e.Old, e.New = e.Old+line[1:], e.New+line[1:]
			case '#':
			default:
				return nil, fmt.Errorf("%q begins with no blank, minus, plus or #", line)
			}
		}
		edits = append(edits, e)
	}
	return edits, nil
}

// Apply makes edits of files below root, one after the other.
func (f Files) Apply(root string, edits []Edit) error {
	for _, e := range edits {
		path := filepath.Join(root, filepath.FromSlash(e.File))
		text, ok := f[path]
		if !ok && e.Old != "" {
			onDisk, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text = string(onDisk)
		}
		// Whole lines: the old text begins where one begins.
		text, old := "\n"+text, "\n"+e.Old
		at := strings.Index(text, old)
		if at < 0 || at != strings.LastIndex(text, old) {
			return fmt.Errorf("%s does not have exactly once:\n%s", e.File, e.Old)
		}
		f[path] = (text[:at] + "\n" + e.New + text[at+len(old):])[1:]
	}
	return nil
}
