package main

import (
	"context"
	"embed"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"example.com/redlock/internal/overlay"
)

// texts has what is changed in the code that the simulation runs: a Go runtime that is repeatable, as long as
// GOMAXPROCS is 1 and no garbage is collected meanwhile; what package redlock knows of it; and masters that run
// scripts more quickly.
//
//go:embed edits
var texts embed.FS

// edit makes the changes that a file of texts has to the code below root.
func edit(files overlay.Files, root, name string) error {
	text, err := texts.ReadFile("edits/" + name + ".patch")
	if err != nil {
		return err
	}
	edits, err := overlay.ReadEdits(string(text))
	if err != nil {
		return err
	}
	return files.Apply(root, edits)
}

// lay writes to dir what go build lays over the Go distribution and over the module in root, and returns the
// file that lists it.
func lay(ctx context.Context, root, dir string) (string, error) {
	source, err := overlay.Source(ctx)
	if err != nil {
		return "", err
	}
	files := overlay.Files{}
	if err := edit(files, source, "go"); err != nil {
		return "", err
	}
	if err := edit(files, root, "redlock"); err != nil {
		return "", err
	}
	return files.Write(dir)
}

// modules are edited in a copy, since go build lays nothing over the module cache.
var modules = map[string]string{
	"miniredis":  "github.com/alicebob/miniredis/v2",
	"gopher-lua": "github.com/yuin/gopher-lua",
}

// modfile writes to dir a go.mod for the module in root that has the edited modules.
func modfile(ctx context.Context, root, dir string) (string, error) {
	files := overlay.Files{}
	var replaces strings.Builder
	for name, module := range modules {
		download := exec.CommandContext(ctx, "go", "mod", "download", "-json", module)
		download.Dir = root
		out, err := download.Output()
		if err != nil {
			return "", err
		}
		var at struct{ Dir string }
		if err := json.Unmarshal(out, &at); err != nil {
			return "", err
		}
		copied := filepath.Join(dir, name)
		if err := os.CopyFS(copied, os.DirFS(at.Dir)); err != nil {
			return "", err
		}
		if err := edit(files, copied, name); err != nil {
			return "", err
		}
		replaces.WriteString("\nreplace " + module + " => " + copied + "\n")
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		if name == "go.mod" {
			text = append(text, replaces.String()...)
		}
		files[filepath.Join(dir, name)] = string(text)
	}
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "go.mod"), nil
}
