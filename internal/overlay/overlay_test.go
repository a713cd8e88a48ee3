package overlay

import (
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

// Lines are replaced where they stand once, and whole.
func TestApplyOnce(t *testing.T) {
	for text, ok := range map[string]bool{"one\n": true, "two\n": false, "one\none\n": false, "one and\n": false, "no one\n": false} {
		err := Files{"/nowhere/a.go": text}.Apply("/nowhere", []Edit{{File: "a.go", Old: "one\n", New: "1\n"}})
		if (err == nil) != ok {
			t.Errorf("Apply to %q = %v, want it to work: %v", text, err, ok)
		}
	}
	if err := (Files{}).Apply("/nowhere", []Edit{{File: "a.go", Old: "one\n"}}); err == nil || !strings.Contains(err.Error(), "a.go") {
		t.Errorf("Apply to a file that is not there = %v", err)
	}
	check.OK(t, Files{}.Apply("/nowhere", []Edit{{File: "a.go", New: "one\n"}}), "Apply of a new file")
}

func TestReadEdits(t *testing.T) {
	for _, text := range []string{"", "-one\n", "@@ a.go\none\n"} {
		if edits, err := ReadEdits(text); err == nil {
			t.Errorf("ReadEdits(%q) = %v, want an error", text, edits)
		}
	}
}
