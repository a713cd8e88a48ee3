package overlay

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

// A program is built from one file that was changed and one that is not there, and the disk stays as it is.
func TestOverlay(t *testing.T) {
	root := t.TempDir()
	main := filepath.Join(root, "main.go")
	const text = "package main\n\nfunc main() { print(\"on the disk\") }\n"
	for path, text := range map[string]string{main: text, filepath.Join(root, "go.mod"): "module example.com/toy\n"} {
		check.OK(t, os.WriteFile(path, []byte(text), 0o600))
	}
	edits, err := ReadEdits("@@ main.go\n# Says another word.\n-func main() { print(\"on the disk\") }\n+func main() { print(word) }\n\n@@ word.go\n+package main\n+\n+const word = \"laid over\"\n")
	check.OK(t, err)
	files := Files{}
	check.OK(t, files.Apply(root, edits))
	list, err := files.Write(t.TempDir())
	check.OK(t, err)
	run := exec.CommandContext(t.Context(), "go", "run", "-overlay", list, ".")
	run.Dir = root
	if out, err := run.CombinedOutput(); err != nil || string(out) != "laid over" {
		t.Errorf("the program says %q, %v, want what was laid over it", out, err)
	}
	if now, err := os.ReadFile(main); err != nil || string(now) != text {
		t.Errorf("the file on the disk reads %q, %v, want it as it was", now, err)
	}
}

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
}

func TestReadEdits(t *testing.T) {
	for _, text := range []string{"", "-one\n", "@@ a.go\none\n"} {
		if edits, err := ReadEdits(text); err == nil {
			t.Errorf("ReadEdits(%q) = %v, want an error", text, edits)
		}
	}
}
