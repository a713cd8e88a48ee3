// Package overlay builds programs from files that differ from those on the disk: go build -overlay.
package overlay

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// Files are the files that differ, or are not on the disk: their texts by their absolute paths.
type Files map[string]string

// Write writes the files into folder, and returns the name of the file that go build -overlay wants.
func (f Files) Write(folder string) (string, error) {
	replace := make(map[string]string, len(f))
	for i, path := range slices.Sorted(maps.Keys(f)) {
		file := filepath.Join(folder, fmt.Sprintf("%d-%s", i, filepath.Base(path)))
		if err := os.WriteFile(file, []byte(f[path]), 0o644); err != nil {
			return "", err
		}
		replace[path] = file
	}
	list, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, "overlay.json")
	return file, os.WriteFile(file, list, 0o644)
}

// Source returns the folder with the source of the Go distribution.
func Source(ctx context.Context) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	return filepath.Join(strings.TrimSpace(string(root)), "src"), nil
}
