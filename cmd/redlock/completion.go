package main

import (
	"context"
	"embed"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"example.com/redlock/internal/quote"
	"example.com/redlock/node/script"
)

type completionCmd struct {
	Shell string  `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
	Line  *string `hidden:""` // what is typed so far, as the scripts ask: see suggest
}

//go:embed completion
var completionScripts embed.FS

// Run prints the script that completes the command line of redlock in a shell, or what the script asks for.
func (c *completionCmd) Run(std streams) error {
	if c.Line != nil {
		return c.suggest(std.out, *c.Line)
	}
	text, err := completionScripts.ReadFile("completion/redlock." + c.Shell)
	if err == nil {
		_, err = std.out.Write(text)
	}
	return err
}

// suggestion is a word that may be typed, and what it means.
type suggestion struct{ word, means string }

// suggest prints the words to which the last word of a line may be completed, one on each line, in the form that the shell
// needs. Or it prints a tab and what the shell should complete by itself: a file, the command behind --, or its argument.
//
// The names of locks come from the masters that the environment names. The packages that complete for kong are not
// maintained, or bring a second parser.
func (c *completionCmd) suggest(out io.Writer, line string) error {
	parser, err := newParser(new(cli), io.Discard, io.Discard, func(int) {})
	if err != nil {
		return err
	}
	words := shellWords(line + "|") // so that the last one is there, even if it is empty
	last := len(words) - 1
	typed := strings.TrimSuffix(words[last], "|")
	all, instead := suggestions(parser.Model, words[1:max(1, last)], typed)
	if instead != "" {
		_, err = fmt.Fprintf(out, "\t%s\n", instead)
		return err
	}
	for _, s := range all {
		if strings.HasPrefix(s.word, typed) {
			if _, err := fmt.Fprintln(out, c.written(s, typed)); err != nil {
				return err
			}
		}
	}
	return nil
}

// written returns a suggestion in the form that the shell needs. bash completes what follows the last colon or = of a word,
// and puts it into the line as it is, so it is quoted here: others chose the names of locks. zsh and fish quote by
// themselves.
func (c *completionCmd) written(s suggestion, typed string) string {
	switch c.Shell {
	case "bash":
		return forShell(s.word)[strings.LastIndexAny(forShell(typed), ":=")+1:]
	case "zsh":
		return strings.NewReplacer(`\`, `\\`, ":", `\:`).Replace(s.word) + ":" + s.means
	}
	return s.word + "\t" + s.means
}

var notPlain = regexp.MustCompile(`[^\w./:=@%+,\x{80}-\x{10FFFF}-]`)

func forShell(word string) string { return notPlain.ReplaceAllString(word, `\$0`) }

// suggestions returns what may follow words, the first of which is the subcommand, or what the shell should complete by
// itself.
func suggestions(model *kong.Application, words []string, typed string) (all []suggestion, instead string) {
	if len(words) == 0 {
		for _, command := range model.Children {
			all = append(all, suggestion{command.Name, command.Help})
		}
		return append(all, suggestion{"--help", "Print help and exit."}, suggestion{"--version", "Print the version and exit."}), ""
	}
	i := slices.IndexFunc(model.Children, func(command *kong.Node) bool { return command.Name == words[0] })
	if i < 0 {
		return nil, ""
	}
	command, before := model.Children[i], words[len(words)-1]
	if dashes := slices.Index(words, "--"); dashes > 0 && command.Name == "run" {
		if before == "--" && dashes == len(words)-1 {
			return nil, "command"
		}
		return nil, "argument"
	}
	if flag, _, valued := strings.Cut(typed, "="); valued {
		before = flag
	}
	for _, flag := range slices.Concat(command.AllFlags(true)...) {
		long, short := "--"+flag.Name, "-"+string(flag.Short)
		means, _, _ := strings.Cut(flag.Help, ". ")
		switch {
		case (before == long || before == short) && isFile(flag):
			return nil, "file"
		case (before == long || before == short) && !flag.IsBool():
			return nil, ""
		case strings.HasPrefix(typed, "-"):
			all = append(all, suggestion{long, means})
		}
	}
	switch {
	case len(all) > 0:
	case len(words) == 1 && command.Name == "completion":
		for _, shell := range command.Positional[0].EnumSlice() {
			all = append(all, suggestion{shell, ""})
		}
	case len(words) == 1 && command.Name == "help":
		all, _ = suggestions(model, nil, "")
		all = append(all[:len(model.Children)], suggestion{"config", "settings in a file"}, suggestion{"exit-codes", "what each exit code means"})
	case slices.Contains([]string{"run", "hold", "inspect", "list", "unlock"}, command.Name):
		all = namesFrom(typed)
	}
	return all, ""
}

// namesFrom returns the first names that begin so and are held, except those that cannot be typed.
func namesFrom(begin string) (all []suggestion) {
	line, parsed, _, err := parse([]string{"list", "--", script.Prefix(begin).Pattern("*")}, io.Discard, io.Discard)
	if err != nil {
		return nil
	}
	client, err := line.List.openToLook(originsOf(parsed, &line.file), io.Discard)
	if err != nil {
		return nil
	}
	defer closeSoon(client)
	ctx, cancel := context.WithTimeout(context.Background(), lookLimit)
	defer cancel()
	found, _ := listed(ctx, client, line.List.Pattern, "", line.List.Limit)
	for _, one := range found.locks {
		if quote.Text(one.Name) == one.Name {
			all = append(all, suggestion{one.Name, ""})
		}
	}
	return slices.Compact(all)
}

var (
	shellWord   = regexp.MustCompile(`(?:[^\s'"\\]|\\.|'[^']*'|"[^"]*")+`)
	shellQuotes = regexp.MustCompile(`\\(.)|'([^']*)'|"([^"]*)"`)
)

// shellWords splits a line as a shell does, as far as quotes go.
func shellWords(line string) (words []string) {
	for _, word := range shellWord.FindAllString(line, -1) {
		words = append(words, shellQuotes.ReplaceAllString(word, "$1$2$3"))
	}
	return words
}
