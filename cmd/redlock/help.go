package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// columns is how wide the texts are that do not adapt to the terminal.
const columns = 80

// usages replace kong's lines of usage, which know too little of names.
var usages = map[string]string{
	"run":     "redlock run [flags] NAME... -- COMMAND [ARG...]\n       redlock run [flags] -c SCRIPT NAME...",
	"hold":    "redlock hold [flags] NAME...",
	"inspect": "redlock inspect [flags] NAME",
	"unlock":  "redlock unlock --force [flags] NAME",
}

// notes are what stands below the flags.
var notes = map[string]string{"run": runNotes, "hold": holdNotes, "inspect": inspectNotes, "unlock": unlockNotes, "doctor": doctorNotes}

// Help is the long help text.
func (*runCmd) Help() string { return runHelp }

// Help is the long help text.
func (*holdCmd) Help() string { return holdHelp }

// printHelp prints kong's help and, below the flags, the notes of the command and its exit codes.
func printHelp(options kong.HelpOptions, ctx *kong.Context) error {
	out := ctx.Stdout
	var text strings.Builder
	ctx.Stdout = &text
	err := kong.DefaultHelpPrinter(options, ctx)
	ctx.Stdout = out
	if err != nil {
		return err
	}
	help := strings.NewReplacer(
		"--name=NAME\n...  ", "--name=NAME      ", // the separator of names is a new line
		"Show context-sensitive help.", "Print this help and exit.",
	).Replace(text.String())
	selected := ctx.Selected()
	if selected == nil {
		_, err = io.WriteString(out, help+appNotes)
		return err
	}
	if usage, ok := usages[selected.Name]; ok {
		_, rest, _ := strings.Cut(help, "\n")
		help = "Usage: " + usage + "\n" + rest
	}
	asks := slices.ContainsFunc(selected.Flags, func(f *kong.Flag) bool { return f.Name == "masters" })
	_, err = fmt.Fprint(out, help, notes[selected.Name], exitSection(selected.Name, asks))
	return err
}
