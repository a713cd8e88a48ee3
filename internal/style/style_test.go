// Package style_test holds the rules of this project that a test can check: what every
// package and script says of itself, and who may import whom.
package style_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

const module = "example.com/redlock"

// TestMain runs the tests in the root of the module, which all of them are about.
func TestMain(m *testing.M) {
	if err := os.Chdir("../.."); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// rooms are the packages of the project. What each may import, besides the standard
// library, is all that is listed. "ours/" stands for the module's own path.
var rooms = map[string][]string{
	"quorum":               {},
	"multilock/attempt":    {"ours/quorum", "ours/clock"},
	"clock":                {"golang.org/x/sys"},
	"node/script":          {"ours/internal/quote", redigo},
	"node/server":          {"ours/node/script", "ours/internal/awake", "ours/internal/fifo", "ours/internal/quote", "ours/clock", redigo},
	"node":                 {"ours/node/script", "ours/node/server", "ours/internal/awake", "ours/internal/fifo", "ours/internal/quote", "ours/internal/tracer", "ours/redlocktrace", "ours/clock", redigo},
	"multilock/terms":      {"ours/node/script", "ours/quorum", "ours/clock"},
	"multilock/poll":       {"ours/multilock/attempt", "ours/multilock/terms", "ours/node", "ours/node/script", "ours/node/server", "ours/quorum", "ours/clock", "github.com/google/uuid", multierror},
	"multilock/clients":    {"ours/multilock/poll", "ours/multilock/terms", "ours/node", "ours/node/script", "ours/node/server", "ours/quorum", "ours/clock", "ours/internal/awake", "ours/internal/tracer", "ours/redlocktrace", "github.com/google/uuid"},
	"multilock":            {"ours/multilock/attempt", "ours/multilock/poll", "ours/multilock/clients", "ours/multilock/terms", "ours/node", "ours/node/script", "ours/node/server", "ours/quorum", "ours/clock", "ours/internal/tracer", "ours/redlocktrace", multierror},
	"redlock":              {"ours/multilock", "ours/multilock/poll", "ours/multilock/clients", "ours/multilock/terms", "ours/node", "ours/node/script", "ours/node/server", "ours/clock", "ours/internal/beside", "ours/internal/inside", "ours/internal/logger", "ours/internal/tracer", "ours/redlocktrace", redigo, "github.com/google/uuid", multierror},
	"redlockadmin":         {"ours/redlock", "ours/internal/beside", "ours/internal/inside", "ours/multilock", "ours/multilock/clients", "ours/multilock/poll", "ours/multilock/terms", "ours/node", "ours/node/script", "ours/node/server", "ours/quorum"},
	"internal/inside":      {"ours/multilock", "ours/multilock/terms"},
	"redlocktrace":         {},
	"internal/tracer":      {"ours/internal/queue", "ours/redlocktrace"},
	"internal/logger":      {"ours/internal/queue"},
	"internal/queue":       {},
	"node/script/twin":     {},
	"doctor/probe":         {"ours/node/script", "ours/node/server", "ours/internal/awake", "ours/internal/quote", "ours/clock", redigo},
	"doctor":               {"ours/doctor/probe", "ours/redlock", "ours/multilock/terms", "ours/node/script", "ours/node/server", "ours/quorum", "ours/clock", "ours/internal/quote", redigo},
	"redlocktest":          {"ours/internal/link", redigo, "github.com/alicebob/miniredis/v2"},
	"internal/link":        {},
	"internal/answered":    {"ours/node/script", "ours/redlocktest", redigo},
	"internal/redisserver": {},
	"internal/quote":       {},
	"internal/awake":       {"ours/clock"},
	"internal/fifo":        {},
	"internal/bent":        {redigo},
	"integration":          {},
	"integration/fleet":    {"ours/internal/beside", "ours/internal/redisserver", redigo, "github.com/ory/dockertest/v3"},
	"integration/wire":     {"ours/internal/link"},
	"integration/workload": {"ours/redlock", "ours/redlocktrace", "ours/internal/boottime", "ours/internal/failure", "ours/internal/history"},
	"integration/client":   {"ours/redlock", "ours/internal/history", "ours/integration/workload"},
	"integration/trial":    {"ours/internal/beside", "ours/internal/boottime", "ours/internal/history", "ours/internal/overlay", "ours/integration/fleet", "ours/integration/wire", "ours/integration/workload", "ours/internal/judge", "ours/internal/picture", redigo},
	"integration/chaos":    {"ours/internal/beside", "ours/internal/history", "ours/internal/judge", "ours/integration/trial"},
	"internal/boottime":    {"golang.org/x/sys"},
	"internal/history":     {},
	"internal/failure":     {"ours/redlock", "ours/internal/history"},
	"internal/judge":       {"ours/internal/history"},
	"internal/beside":      {},
	"internal/check":       {},
	"internal/overlay":     {},
	"internal/picture":     {"ours/internal/history"},
	"verify/model":         {"ours/internal/beside", "ours/multilock/attempt", "ours/node/script", "ours/node/script/twin", "ours/quorum", "ours/clock"},
	"verify/mutants":       {"ours/internal/beside", "ours/internal/overlay"},
	"internal/style":       {}, // this file
}

// noIO names what a room without I/O, goroutines and clocks does not import of the standard library.
var noIO = map[string][]string{
	"node/script": {"bufio", "context", "io", "log", "log/slog", "net", "os", "sync", "sync/atomic"},
}

const (
	redigo     = "github.com/gomodule/redigo"
	multierror = "github.com/hashicorp/go-multierror"
)

// pkg is the part of go list -json that the rules need.
type pkg struct {
	ImportPath string
	Doc        string
	Export     string
	Standard   bool
	Imports    []string
	Module     *struct{ Path string }
}

// list runs go list -json for one system and decodes the packages it names.
func list(t *testing.T, goos string, args ...string) []pkg {
	t.Helper()
	return listWith(t, []string{"GOOS=" + goos, "CGO_ENABLED=0"}, args...)
}

// listWith runs go list -json with settings of the environment.
func listWith(t *testing.T, env []string, args ...string) (pkgs []pkg) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", append([]string{"list", "-json=ImportPath,Doc,Export,Standard,Imports,Module"}, args...)...)
	command.Env = append(os.Environ(), env...)
	var complaint bytes.Buffer
	command.Stderr = &complaint
	out, err := command.Output()
	if err != nil {
		t.Fatalf("go list %v: %v\n%s", args, err, &complaint)
	}
	decoder := json.NewDecoder(bytes.NewReader(out))
	for {
		var p pkg
		err := decoder.Decode(&p)
		if errors.Is(err, io.EOF) {
			return pkgs
		}
		check.OK(t, err, "go list %v", args)
		pkgs = append(pkgs, p)
	}
}

// room is where a package lives in the module.
func room(importPath string) string {
	return strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
}

// under reports whether an import path is prefix or below it.
func under(importPath, prefix string) bool {
	return importPath == prefix || strings.HasPrefix(importPath, prefix+"/")
}

// TestRooms: each package is one that the design knows, and says what it is for.
func TestRooms(t *testing.T) {
	seen := map[string]bool{}
	for _, p := range list(t, "linux", "./...") {
		name := room(p.ImportPath)
		seen[name] = true
		if _, ok := rooms[name]; !ok {
			t.Errorf("package %q is in no rule: add it to rooms", name)
		}
		check.That(t, name == "internal/style" || p.Doc != "", "package %q has no package comment", name)
	}
	for name := range rooms {
		check.That(t, seen[name], "package %q is gone", name)
	}
}

// TestImportArrows: who imports whom, on each system that the library is built for.
func TestImportArrows(t *testing.T) {
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, p := range list(t, goos, "./...") {
			name := room(p.ImportPath)
			for _, imported := range p.Imports {
				check.That(t, !slices.Contains(noIO[name], imported), "%s does no I/O, but imports %s", name, imported)
				short := imported
				if under(imported, module) {
					short = "ours/" + room(imported)
				}
				host, _, _ := strings.Cut(imported, "/")
				standard := !strings.Contains(host, ".")
				if !standard && !slices.ContainsFunc(rooms[name], func(a string) bool {
					return short == a || !strings.HasPrefix(a, "ours/") && under(short, a)
				}) {
					t.Errorf("on %s, %s imports %s, allowed are %v", goos, name, short, rooms[name])
				}
			}
		}
	}
}

// TestImportGraph: what a program compiles that imports redlock.
func TestImportGraph(t *testing.T) {
	allowed := []string{
		module, redigo, multierror,
		"github.com/hashicorp/errwrap", // go-multierror's own
		"github.com/google/uuid",
		"golang.org/x/sys",
	}
	for _, goos := range []string{"linux", "darwin", "windows"} {
		for _, p := range list(t, goos, "-deps", "./redlock") {
			if !p.Standard && (p.Module == nil || !slices.Contains(allowed, p.Module.Path)) {
				t.Errorf("on %s, redlock compiles %s, allowed are the standard library and %v", goos, p.ImportPath, allowed)
			}
		}
	}
}

// TestScriptHeaders: a Lua script begins with its contract.
//
//	-- release.lua: give back one level of a hold, or all of it.
//	--
//	-- KEYS[1]  lock key: a hash, owner -> holds
//	-- returns  1 freed, 0 still held, -1 not held by owner
//	-- Called for a Release command. A repeat changes nothing.
func TestScriptHeaders(t *testing.T) {
	scripts := 0
	for _, file := range files(t) {
		if path.Ext(file) != ".lua" {
			continue
		}
		scripts++
		header, text := "", check.File(t, file)
		for line := range strings.Lines(text) {
			if !strings.HasPrefix(line, "--") {
				break
			}
			header += line
		}
		for _, want := range []string{
			`\A-- ` + regexp.QuoteMeta(path.Base(file)) + `: \S`,
			`(?m)^-- (KEYS|ARGV)\[[^]]+\]\s+\S`,
			`(?m)^-- returns\s+\S`,
			`(?m)^-- (Called for|Called by|A part of) \S`,
		} {
			check.That(t, regexp.MustCompile(want).MatchString(header), "%s: its header has no line like %s", file, want)
		}
		// Every argument that the script reads is in its contract.
		for _, used := range regexp.MustCompile(`(KEYS|ARGV)\[\d+\]`).FindAllString(text, -1) {
			check.That(t, strings.Contains(header, used), "%s: its header does not say what %s is", file, used)
		}
	}
	if scripts == 0 {
		t.Error("no .lua file was found: this test looks in the wrong place")
	}
}

// TestSelfContained: the project refers to nothing beside itself, and to no one machine.
func TestSelfContained(t *testing.T) {
	// Spelled apart, so that this file does not find itself.
	forbidden := regexp.MustCompile(`\.\./` + `shared|/wo` + `rk/|/ro` + `ot/|/ho` + `me/[a-z]|/t` + `mp/`)
	for _, file := range files(t) {
		if strings.HasSuffix(file, "go.sum") {
			continue
		}
		for i, line := range strings.Split(check.File(t, file), "\n") {
			if found := forbidden.FindString(line); found != "" {
				t.Errorf("%s:%d refers to %s", file, i+1, found)
			}
		}
	}
}

// files lists the project's files by their slash-separated paths, without what git ignores.
func files(t *testing.T) (names []string) {
	t.Helper()
	check.OK(t, os.Chdir(".")) // go test noted no Chdir before m.Run, and would take an old result for changed files
	err := filepath.WalkDir(".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name == ".git" || name == "out" {
				return filepath.SkipDir
			}
			return nil
		}
		if entry.Type().IsRegular() && name != ".git" { // a file in a work tree of git worktree
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	check.OK(t, err)
	return names
}
