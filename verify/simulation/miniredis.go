package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"example.com/redlock/internal/overlay"
)

const miniredis = "github.com/alicebob/miniredis/v2"

// quicker are edits of package miniredis. It makes a Lua state for each call of a script, which takes as long
// as the script. Here one that was used is used again.
var quicker = []edit{
	{"cmd_scripting.go", "\tl := lua.NewState(lua.Options{SkipOpenLibs: true})\n\tdefer l.Close()\n", "\tl, fresh := takeState()\n\tdefer giveState(l)\n\tif fresh {\n"},
	{"cmd_scripting.go", "\trequireGlobal(l, \"cjson\", \"json\")\n", "\trequireGlobal(l, \"cjson\", \"json\")\n\t}\n"},
	{"cmd_scripting.go", "\tl.RegisterModule(\"os\", mkLuaOS())\n\n\t_ = doScript(l, protectGlobals)\n", "\tif fresh {\n\t\tl.RegisterModule(\"os\", mkLuaOS())\n\t\t_ = doScript(l, protectGlobals)\n\t}\n"},
	{"lua.go", "bufio.NewWriter(buf)", "bufio.NewWriterSize(buf, 256)"},
	{"lua.go", "bufio.NewReader(buf)", "bufio.NewReaderSize(buf, 256)"},
}

// states is added to package miniredis.
const states = `package miniredis

import (
	"sync"

	lua "github.com/yuin/gopher-lua"
)

var states struct {
	sync.Mutex
	free []*lua.LState
}

// takeState returns a state that no script uses, or a fresh one.
func takeState() (l *lua.LState, fresh bool) {
	states.Lock()
	defer states.Unlock()
	if n := len(states.free); n > 0 {
		l, states.free = states.free[n-1], states.free[:n-1]
		return l, false
	}
	return lua.NewState(lua.Options{SkipOpenLibs: true}), true
}

// giveState gives a state back. Scripts leave no globals behind: they cannot make any.
func giveState(l *lua.LState) {
	l.SetTop(0)
	states.Lock()
	defer states.Unlock()
	states.free = append(states.free, l)
}
`

// modfile writes to dir a go.mod for the module in root that has a quicker miniredis.
func modfile(ctx context.Context, root, dir string) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", miniredis)
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		return "", err
	}
	copied := filepath.Join(dir, "miniredis")
	if err := os.CopyFS(copied, os.DirFS(strings.TrimSpace(string(out)))); err != nil {
		return "", err
	}
	files := overlay.Files{filepath.Join(copied, "states.go"): states}
	for _, e := range quicker {
		if err := files.Replace(filepath.Join(copied, e.file), e.old, e.new); err != nil {
			return "", err
		}
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return "", err
		}
		if name == "go.mod" {
			text = append(text, "\nreplace "+miniredis+" => "+copied+"\n"...)
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
