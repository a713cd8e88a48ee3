package main

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

// description is what redlock --help begins with.
const description = `Locks that are granted by a majority of independent Redis masters.

A lock is held as long as a majority of the masters says so. With five masters,
any two may die, hang or be cut off: the lock can still be taken, and there is
still at most one holder. See it without installing anything:

  redlock demo`

//go:embed manual.tmpl
var manualText string

// manual returns a text of manual.tmpl; it is empty where there is none of that name.
func manual(name string) string {
	texts := template.Must(template.New("").Parse(manualText))
	if texts.Lookup(name) == nil {
		return ""
	}
	var text strings.Builder
	_ = texts.ExecuteTemplate(&text, name, nil) // has no action that could fail
	return text.String()
}

// printHelp prints kong's help with that of the manual, and the exit codes.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	selected := ctx.Selected()
	if selected != nil {
		selected.Detail = manual(selected.Name + " detail")
	}
	out := ctx.Stdout
	var text strings.Builder
	ctx.Stdout = &text
	err := kong.DefaultHelpPrinter(options, ctx)
	ctx.Stdout = out
	if err != nil {
		return err
	}
	help := strings.Replace(text.String(), "Show context-sensitive help.", "Print this help and exit.", 1)
	if selected == nil {
		_, err = io.WriteString(out, help+manual("topics"))
		return err
	}
	if usage := manual(selected.Name + " usage"); usage != "" {
		_, rest, _ := strings.Cut(help, "\n")
		help = usage + rest
	}
	asks := slices.ContainsFunc(selected.Flags, func(f *kong.Flag) bool { return f.Name == "masters" })
	_, err = io.WriteString(out, help+manual(selected.Name+" notes")+exitSection(selected.Name, asks))
	return err
}

type helpCmd struct {
	Topic string `arg:"" optional:"" help:"A command, or one of: config, exit-codes."`
}

// Run prints what is known of the topic.
func (h *helpCmd) Run(std streams) error {
	switch h.Topic {
	case "exit-codes":
		return printExitCodes(std.out)
	case "config":
		_, err := io.WriteString(std.out, manual("config"))
		return err
	}
	args := []string{"--help"}
	if h.Topic != "" {
		args = []string{h.Topic, "--help"}
	}
	code, err := dispatch(args, std, std.out)
	if err != nil {
		return fail(code, "there is no help on %q; see redlock help", h.Topic)
	}
	return nil
}

// meaning is what an exit code means: a number, 128+n, or * for any code that the command of redlock run has.
type meaning struct {
	code  string
	of    string // the commands, or all: those that ask masters
	means string
}

// exitCodes returns all meanings of all codes.
func exitCodes() (all []meaning) {
	for line := range strings.Lines(manual("codes")) {
		code, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		of, means, _ := strings.Cut(rest, ": ")
		all = append(all, meaning{code, of, means})
	}
	return all
}

// printExitCodes prints what each exit code means, for each command.
func printExitCodes(out io.Writer) error {
	all := exitCodes()
	for i, e := range all {
		if e.of != "all" {
			all[i].means = e.of + ": " + e.means
		}
	}
	_, err := io.WriteString(out, explained(all)+"\nThe command of redlock run may end with the same codes. Whenever redlock itself\n"+
		"has a reason for a code from 64 on, it says so on stderr.\n")
	return err
}

// exitSection returns what the exit codes of one command mean. Commands that ask masters share some.
func exitSection(command string, asks bool) string {
	var own []meaning // one for each code
	for _, e := range exitCodes() {
		if (e.of != "all" || !asks) && !slices.Contains(strings.Split(e.of, ", "), command) {
			continue
		}
		if last := len(own) - 1; last >= 0 && own[last].code == e.code {
			own[last].means += "; " + e.means
			continue
		}
		own = append(own, e)
	}
	if len(own) == 0 {
		return ""
	}
	return "\n" + explained(own)
}

// explained says what codes mean, in more than one line if 80 columns are too few.
func explained(codes []meaning) string {
	var text strings.Builder
	text.WriteString("Exit codes:\n")
	for _, e := range codes {
		fmt.Fprintf(&text, "  %5s  %s\n", e.code, hang(e.means, 9))
	}
	return text.String()
}
