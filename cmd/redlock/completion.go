package main

import (
	_ "embed"
	"io"
	"slices"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help is the long help text.
func (completionCmd) Help() string { return completionHelp }

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
	source := map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}[c.Shell]
	script, err := template.New(c.Shell).Funcs(template.FuncMap{
		"join":   strings.Join,
		"single": func(text string) string { return strings.ReplaceAll(text, `'`, `'\''`) },
		"zsh":    strings.NewReplacer(`'`, `'\''`, `[`, `\[`, `]`, `\]`, `:`, `\:`).Replace,
		"fish":   strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace,
	}).Parse(source)
	if err != nil {
		return err
	}
	return script.Execute(std.out, completed(parser))
}

//go:embed completion/bash.tmpl
var bashCompletion string

//go:embed completion/zsh.tmpl
var zshCompletion string

//go:embed completion/fish.tmpl
var fishCompletion string

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
	Takes             string   // what its value is called; empty: it has none
	File              bool     // its value is a file
	Values            []string // what its value may be, if that is one of a few
}

func completed(parser *kong.Kong) (list []completedCommand) {
	var all []string
	for _, node := range parser.Model.Children {
		all = append(all, node.Name)
	}
	for _, node := range parser.Model.Children {
		command := completedCommand{Name: node.Name, Help: node.Help, Runs: node.Name == "run"}
		command.Names = slices.Contains([]string{"run", "hold", "inspect", "list", "unlock"}, node.Name)
		for _, group := range node.AllFlags(true) {
			for _, flag := range group {
				command.Flags = append(command.Flags, completedAs(flag))
			}
		}
		for _, arg := range node.Positional {
			if arg.Enum != "" {
				command.Values = arg.EnumSlice()
			}
		}
		if node.Name == "help" {
			command.Values = append(all, "config", "exit-codes")
		}
		list = append(list, command)
	}
	return list
}

func completedAs(flag *kong.Flag) completedFlag {
	short, _, _ := strings.Cut(flag.Help, ". ")
	one := completedFlag{Name: flag.Name, Help: strings.TrimSuffix(short, "."), File: flag.Tag.Get("predictor") == "file"}
	if flag.Short != 0 {
		one.Short = string(flag.Short)
	}
	if !flag.IsBool() {
		one.Takes = strings.ToUpper(flag.Name)
	}
	if values := flag.Tag.Get("values"); values != "" {
		one.Values = strings.Split(values, ",")
	}
	return one
}
