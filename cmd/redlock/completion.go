package main

import (
	"embed"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints the script that completes the command line of redlock in a shell.
//
// The scripts are made from kong's model, and have all they need in them but the names of locks: for
// those they ask redlock list, which finds the masters by its environment. The companions of kong ask for
// everything, and are not kept up or bring a second parser.
func (c *completionCmd) Run(std streams) error {
	var line cli
	parser, err := newParser(&line, io.Discard, io.Discard, func(int) {})
	if err != nil {
		return err
	}
	script, err := template.New(c.Shell+".tmpl").Funcs(template.FuncMap{
		"flags":  func(command *kong.Node) []*kong.Flag { return slices.Concat(command.AllFlags(true)...) },
		"brief":  brief,
		"file":   isFile,
		"names":  func(command *kong.Node) bool { return slices.Contains(ofNames, command.Name) },
		"values": values,
		"join":   strings.Join,
		"upper":  strings.ToUpper,
		"single": func(text string) string { return strings.ReplaceAll(text, `'`, `'\''`) },
		"zsh":    strings.NewReplacer(`'`, `'\''`, `[`, `\[`, `]`, `\]`, `:`, `\:`).Replace,
		"fish":   strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace,
	}).ParseFS(completionScripts, "completion/"+c.Shell+".tmpl")
	if err != nil {
		return err
	}
	return script.Execute(std.out, parser.Model.Children)
}

//go:embed completion
var completionScripts embed.FS

// ofNames are the commands whose arguments are names of locks.
var ofNames = []string{"run", "hold", "inspect", "list", "unlock"}

// values returns what may be the argument of a command, if that is one of a few.
func values(command *kong.Node) (all []string) {
	switch command.Name {
	case "completion":
		return command.Positional[0].EnumSlice()
	case "help":
		for _, other := range command.Parent.Children {
			all = append(all, other.Name)
		}
		return append(all, "config", "exit-codes")
	}
	return nil
}

// brief returns the first sentence of a flag's help.
func brief(flag *kong.Flag) string {
	first, _, _ := strings.Cut(flag.Help, ". ")
	return strings.TrimSuffix(first, ".")
}
