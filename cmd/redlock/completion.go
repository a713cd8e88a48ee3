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
		"join":   strings.Join,
		"single": func(text string) string { return strings.ReplaceAll(text, `'`, `'\''`) },
		"zsh":    strings.NewReplacer(`'`, `'\''`, `[`, `\[`, `]`, `\]`, `:`, `\:`).Replace,
		"fish":   strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace,
	}).ParseFS(completionScripts, "completion/"+c.Shell+".tmpl")
	if err != nil {
		return err
	}
	return script.Execute(std.out, completed(parser))
}

//go:embed completion
var completionScripts embed.FS

// completedCommand is what the templates know of a command.
type completedCommand struct {
	Name, Help string
	Flags      []completedFlag
	Values     []string // what may be its argument, if that is one of a few
	Names      bool     // its argument is the name of a lock
	Runs       bool     // a command follows --
}

// completedFlag is what the templates know of a flag.
type completedFlag struct {
	Name, Short, Help string
	Takes             string // what its value is called; empty: it has none
	File              bool   // its value is a file
}

func completed(parser *kong.Kong) (list []completedCommand) {
	for _, node := range parser.Model.Children {
		command := completedCommand{Name: node.Name, Help: node.Help, Runs: node.Name == "run"}
		command.Names = slices.Contains([]string{"run", "hold", "inspect", "list", "unlock"}, node.Name)
		for _, flag := range slices.Concat(node.AllFlags(true)...) {
			help, _, _ := strings.Cut(flag.Help, ". ")
			one := completedFlag{Name: flag.Name, Help: strings.TrimSuffix(help, "."), File: flag.Tag.Get("predictor") == "file"}
			if flag.Short != 0 {
				one.Short = string(flag.Short)
			}
			if !flag.IsBool() {
				one.Takes = strings.ToUpper(flag.Name)
			}
			command.Flags = append(command.Flags, one)
		}
		switch node.Name {
		case "completion":
			command.Values = node.Positional[0].EnumSlice()
		case "help":
			for _, other := range parser.Model.Children {
				command.Values = append(command.Values, other.Name)
			}
			command.Values = append(command.Values, "config", "exit-codes")
		}
		list = append(list, command)
	}
	return list
}
