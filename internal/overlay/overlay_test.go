package overlay

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A program is built from one file that was changed and one that is not there, and the disk stays as it is.
func TestOverlay(t *testing.T) {
	root := t.TempDir()
	main := filepath.Join(root, "main.go")
	const text = "package main\n\nfunc main() { print(\"on the disk\") }\n"
	for path, text := range map[string]string{main: text, filepath.Join(root, "go.mod"): "module example.com/toy\n"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files := Files{filepath.Join(root, "word.go"): "package main\n\nconst word = \"laid over\"\n"}
	if err := files.Replace(main, `"on the disk"`, "word"); err != nil {
		t.Fatal(err)
	}
	list, err := files.Write(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	run := exec.CommandContext(t.Context(), "go", "run", "-overlay", list, ".")
	run.Dir = root
	if out, err := run.CombinedOutput(); err != nil || string(out) != "laid over" {
		t.Errorf("the program says %q, %v, want what was laid over it", out, err)
	}
	if now, err := os.ReadFile(main); err != nil || string(now) != text {
		t.Errorf("the file on the disk reads %q, %v, want it as it was", now, err)
	}
}

func TestReplaceOnce(t *testing.T) {
	const path = "/nowhere/a.go"
	for text, ok := range map[string]bool{"one": true, "two": false, "one and one": false} {
		err := Files{path: text}.Replace(path, "one", "1")
		if (err == nil) != ok {
			t.Errorf("Replace in %q = %v, want it to work: %v", text, err, ok)
		}
	}
	if err := (Files{}).Replace(path, "one", "1"); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("Replace in a file that is not there = %v", err)
	}
}
