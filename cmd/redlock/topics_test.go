package main

import (
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// Each exit code of the program is in the table, with its meaning, and the table is what is printed.
func TestExitCodesAreExplained(t *testing.T) {
	file, err := parser.ParseFile(gotoken.NewFileSet(), "exit.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	codes := map[int]string{}
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok && strings.HasPrefix(spec.Names[0].Name, "exit") && len(spec.Values) == 1 {
			if value, ok := spec.Values[0].(*ast.BasicLit); ok {
				code, err := strconv.Atoi(value.Value)
				if err != nil {
					t.Fatal(err)
				}
				codes[code] = spec.Names[0].Name
			}
		}
		return true
	})
	if len(codes) < 9 {
		t.Errorf("exit.go has %d codes: this test looks for the wrong thing", len(codes))
	}
	for _, e := range exitCodes {
		if e.means == "" {
			t.Errorf("the meaning of %d is empty", e.code)
		}
		if !e.own {
			delete(codes, e.code)
		}
	}
	for code, name := range codes {
		t.Errorf("%s (%d) is not in the table", name, code)
	}
	i := command(t, "help", "exit-codes").start()
	i.wantCode(0)
	for _, e := range exitCodes {
		for word := range strings.FieldsSeq(e.means) {
			if !strings.Contains(i.stdout.String(), word) {
				t.Errorf("redlock help exit-codes does not say %q:\n%s", e.means, &i.stdout)
				break
			}
		}
	}
}

func TestHelpTopics(t *testing.T) {
	for _, c := range []struct {
		args []string
		says string
		code int
	}{
		{[]string{"help"}, "Commands:", 0},
		{[]string{"help", "run"}, "Usage: redlock run [flags] NAME... -- COMMAND", 0},
		{[]string{"help", "config"}, "password_file", 0},
		{[]string{"help", "lock"}, "", exitUsage},
	} {
		i := command(t, c.args...).start()
		i.wantCode(c.code)
		if !strings.Contains(i.stdout.String(), c.says) {
			t.Errorf("redlock %v prints\n%s\nwant %q", c.args, &i.stdout, c.says)
		}
	}
}

// The help of each command says what each code means once, nothing of codes that it does not have, and
// aligns what flags mean.
func TestHelpIsTidy(t *testing.T) {
	code := regexp.MustCompile(`(?m)^  +(\d+|\*|128\+n)  `)
	for _, name := range []string{"run", "hold", "inspect", "list", "clients", "doctor", "unlock", "demo", "completion", "version"} {
		i := command(t, "help", name).start()
		i.wantCode(0)
		help, codes, has := strings.Cut(i.stdout.String(), "\nExit codes:\n")
		seen := map[string]bool{}
		for _, match := range code.FindAllStringSubmatch(codes, -1) {
			if seen[match[1]] {
				t.Errorf("help %s explains code %s twice", name, match[1])
			}
			seen[match[1]] = true
		}
		if has && len(seen) == 0 {
			t.Errorf("help %s has no codes under their heading", name)
		}
		_, flags, _ := strings.Cut(help, "--version ")
		for line := range strings.Lines(flags) {
			if strings.Contains(flags, "--masters") && strings.HasPrefix(line, "      --") && len(line) > 35 && (line[34] != ' ' || line[35] == ' ') {
				t.Errorf("help %s: not aligned: %q", name, line)
			}
		}
	}
}
