package main

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
)

// redlock understands the command lines in the docs and the help as they would be pasted: with the
// variables that the same block exports, and no others.
func TestDocumentedLines(t *testing.T) {
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatalf("no docs: %v", err)
	}
	shown := map[string][]string{"help": {manual("run notes"), manual("config")}}
	for _, page := range append(pages, "../../README.md", "doc.go") {
		shown[page] = blocks(check.File(t, page))
	}
	lines := 0
	for page, blocks := range shown {
		t.Run(filepath.Base(page), func(t *testing.T) {
			for _, block := range blocks {
				lines += tryBlock(t, block)
			}
		})
	}
	check.That(t, lines >= 10, "%d command lines were found: this test looks in the wrong place", lines)
}

// blocks returns the pieces of a page that a user would paste: fenced blocks, indented blocks, and
// code in a sentence, for which it adds masters.
func blocks(page string) []string {
	fenced := regexp.MustCompile("(?ms)^```[a-z]*\\n(.*?)^```$").FindAllString(page, -1)
	indented := regexp.MustCompile(`(?m)(^(//)?(\t|    ).*\n)+`).FindAllString(page, -1)
	all := append(fenced, indented...)
	for _, code := range regexp.MustCompile("`(redlock (run|hold|inspect|list|clients|unlock|doctor|ui|demo|help|--)[^`]*|make [a-z][^`]*)`").FindAllStringSubmatch(page, -1) {
		all = append(all, "export REDLOCK_MASTERS=m1,m2,m3\n"+code[1])
	}
	return all
}

// tryBlock tries each line of a block that is a command of ours, and returns how many there were.
func tryBlock(t *testing.T, block string) (lines int) {
	t.Helper()
	env := map[string]string{"REDLOCK_MASTERS": ""}
	for line := range strings.Lines(block) {
		line, _, _ = strings.Cut(strings.TrimSpace(strings.TrimPrefix(line, "//")), " #")
		fields := shellWords(line)
		if len(fields) < 2 {
			continue
		}
		switch fields[0] {
		case "export":
			name, value, _ := strings.Cut(fields[1], "=")
			if strings.HasSuffix(name, "_FILE") {
				value = write(t, "file", "open-sesame\n", 0o600)
			}
			env[name] = value
		case "redlock":
			lines++
			if err := understood(t, env, fields[1:]); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		case "make":
			lines++
			check.That(t, strings.Contains(check.File(t, "../../Makefile"), "\n"+fields[1]+":"), "%s: the Makefile has no such target", line)
		}
	}
	return lines
}

// understood returns nil if redlock accepts the line.
func understood(t *testing.T, env map[string]string, args []string) error {
	t.Helper()
	for name, value := range env {
		t.Setenv(name, value)
		if value == "" {
			os.Unsetenv(name) // t.Setenv restores it
		}
	}
	line, parsed, answered, err := parse(args, io.Discard, io.Discard)
	if answered || err != nil {
		return err
	}
	from := originsOf(parsed, &line.file)
	if parsed.Selected().Name == "run" {
		if err := line.Run.check(from); err != nil {
			return err
		}
		client, err := line.Run.open(defaultLease, "lease", from, io.Discard)
		if err == nil {
			err = client.Close()
		}
		return err
	}
	return nil
}

// Each exit code of the program is in the table, with its meaning.
func TestExitCodesAreExplained(t *testing.T) {
	codes := regexp.MustCompile(`(?m)^\t(exit\w+) += (\d+)`).FindAllStringSubmatch(check.File(t, "exit.go"), -1)
	check.That(t, len(codes) >= 9, "exit.go has %d codes: this test looks for the wrong thing", len(codes))
	for _, code := range codes {
		check.That(t, slices.ContainsFunc(exitCodes(), func(e meaning) bool { return e.means != "" && strings.TrimSuffix(e.code, "+n") == code[2] }), "%s (%s) is not in the table", code[1], code[2])
	}
}

// The help of each command says what each code means once, nothing of codes that it does not have, and
// aligns what flags mean.
func TestHelpIsTidy(t *testing.T) {
	code := regexp.MustCompile(`(?m)^  +(\d+|\*|128\+n)  `)
	for _, name := range []string{"run", "hold", "inspect", "list", "clients", "doctor", "unlock", "demo", "completion", "version"} {
		i := command(t, "help", name).start().wantCode(0)
		help, codes, has := strings.Cut(i.stdout.String(), "\nExit codes:\n")
		seen := map[string]bool{}
		for _, match := range code.FindAllStringSubmatch(codes, -1) {
			check.That(t, !seen[match[1]], "help %s explains code %s twice", name, match[1])
			seen[match[1]] = true
		}
		if own := name != "completion" && name != "version"; has != own || own && len(seen) == 0 {
			t.Errorf("help %s has %d exit codes", name, len(seen))
		}
		_, flags, _ := strings.Cut(help, "--version ")
		for line := range strings.Lines(flags) {
			if strings.Contains(flags, "--masters") && strings.HasPrefix(line, "      --") && len(line) > 35 && (line[34] != ' ' || line[35] == ' ') {
				t.Errorf("help %s: not aligned: %q", name, line)
			}
		}
	}
}
