package redlock_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/redlock/internal/check"
	"example.com/redlock/redlock"
)

// TestConfigurationPage: docs/configuration.md has each field of Config, and nothing else, with the default that New
// uses.
func TestConfigurationPage(t *testing.T) {
	table, _, _ := strings.Cut(check.File(t, "../docs/configuration.md"), "\n## ")
	defaults := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| `(\\w+)` \\| ([^|]*) \\|").FindAllStringSubmatch(table, -1) {
		defaults[row[1]] = row[2]
	}
	cfg, err := redlock.Config{Masters: []string{"m1"}}.WithDefaults()
	check.OK(t, err)
	short, err := redlock.Config{Masters: []string{"m1"}, Lease: time.Second}.WithDefaults()
	check.OK(t, err)
	long, err := redlock.Config{Masters: []string{"m1"}, Lease: time.Hour}.WithDefaults()
	check.OK(t, err)
	says := func(field string, is bool, want string) {
		check.That(t, is && defaults[field] == want, "the default of %s is %q on the page, want %q; New uses %+v", field, defaults[field], want, cfg)
	}
	says("Lease", true, strings.Replace(cfg.Lease.String(), "s", " s", 1))
	says("MaxLease", cfg.MaxLease == cfg.Lease, "`Lease`")
	says("RestartGuard", short.RestartGuard == 30*time.Second && long.RestartGuard == long.MaxLease, "`MaxLease`, at least 30 s")
	says("NodeTimeout", short.NodeTimeout == short.Lease/10 && cfg.NodeTimeout == 500*time.Millisecond, "a tenth of `Lease`, at most 500 ms")
	says("MaxHold", cfg.MaxHold == 0, "no bound")
	says("Keep", cfg.Keep == 0, "0")
	says("NoRecord", !cfg.NoRecord, "false")
	for _, field := range reflect.VisibleFields(reflect.TypeFor[redlock.Config]()) {
		_, ok := defaults[field.Name]
		check.That(t, ok, "docs/configuration.md does not have %s", field.Name)
		delete(defaults, field.Name)
	}
	for name := range defaults {
		t.Errorf("docs/configuration.md has %s, which is no field of Config", name)
	}
}

// TestErrorsPage: docs/guide.md has each error that errors.Is finds, and says in one row what to do at it.
func TestErrorsPage(t *testing.T) {
	_, table, _ := strings.Cut(check.File(t, "../docs/guide.md"), "\n## Errors\n")
	table, _, _ = strings.Cut(table, "\n## ")
	var rows []string
	for _, row := range regexp.MustCompile("(?m)^\\| `(Err\\w+)` \\|").FindAllStringSubmatch(table, -1) {
		rows = append(rows, row[1])
	}
	file, err := parser.ParseFile(token.NewFileSet(), "errors.go", nil, 0)
	check.OK(t, err)
	errs := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "Err") {
			errs[spec.Names[0].Name] = true
		}
		return true
	})
	want := slices.Sorted(maps.Keys(errs))
	check.That(t, slices.Equal(slices.Sorted(slices.Values(rows)), want) && len(want) >= 10, "docs/guide.md has a row for each of %q, want %q", rows, want)
}
