package main

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Each exit code of the program is in the table, with its meaning, and the table is what is printed.
func TestExitCodesAreExplained(t *testing.T) {
	codes := regexp.MustCompile(`(?m)^\t(exit\w+) += (\d+)`).FindAllStringSubmatch(readFile(t, "exit.go"), -1)
	if len(codes) < 9 {
		t.Errorf("exit.go has %d codes: this test looks for the wrong thing", len(codes))
	}
	for _, code := range codes {
		if !slices.ContainsFunc(exitCodes, func(e meaning) bool { return !e.own && strconv.Itoa(e.code) == code[2] }) {
			t.Errorf("%s (%s) is not in the table", code[1], code[2])
		}
	}
	i := command(t, "help", "exit-codes").start().wantCode(0)
	said := strings.Join(strings.Fields(i.stdout.String()), " ")
	for _, e := range exitCodes {
		if e.means == "" || !strings.Contains(said, e.means) {
			t.Errorf("redlock help exit-codes does not say %q:\n%s", e.means, &i.stdout)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, c := range []struct {
		args string
		code int
		says []string
	}{
		{"--help", 0, []string{"run", "inspect", "unlock", "demo", "redlock help exit-codes"}},
		{"run --help", 0, []string{"--masters", "$REDLOCK_MASTERS", "--wait", "Examples:", "Signals:", "REDLOCK_TOKEN"}},
		{"help", 0, []string{"Commands:"}},
		{"help run", 0, []string{"Usage: redlock run [flags] NAME... -- COMMAND"}},
		{"help config", 0, []string{"password_file"}},
		{"help lock", exitUsage, nil},
		{"--version", 0, []string{"redlock "}},
		{"version", 0, []string{"redlock "}},
	} {
		command(t, strings.Fields(c.args)...).start().wantCode(c.code).wantOutput(c.says...)
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
			if seen[match[1]] {
				t.Errorf("help %s explains code %s twice", name, match[1])
			}
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
