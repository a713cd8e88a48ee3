package main

import (
	"io"
	"os"
	"slices"

	"github.com/alecthomas/kong"
)

// parse parses args into line. answered says that --help or --version was among them, and was answered. kong goes on
// after that, so its error does not matter then: the line need not be complete.
//
// The names of redlock run need no --name:
//
//	redlock run NAME... [flags] -- COMMAND [ARG...]
//	redlock run -c SCRIPT NAME... [flags]
//
// kong cannot tell a name from a command: the first argument that is no flag begins the command. As long as
// that is a name, it is made a flag, and kong reads on behind it.
//
// If --name or REDLOCK_NAME names the lock, that argument begins the command, with or without --, as it did before names
// could be arguments. A redlock run inside another one inherits REDLOCK_NAME, which is never what it should lock.
func parse(args []string, helpTo, complainTo io.Writer) (line *cli, parsed *kong.Context, answered bool, err error) {
	for names := 0; ; names++ {
		line = new(cli)
		parser, err := newParser(line, helpTo, complainTo, func(int) { answered = true })
		if err != nil {
			return line, nil, false, err
		}
		parsed, err = parser.Parse(args)
		words := line.Run.Command
		if answered || err != nil || len(words) == 0 {
			return line, parsed, answered, err
		}
		if names == 0 && !line.Run.beginsWithName(parsed) || words[0] == "--" {
			if names > 0 && len(line.Run.Name) > names {
				err = fail(exitUsage, "names are given twice: some by --name, and some in front of --")
			}
			return line, parsed, false, err
		}
		name := "--name=" + kong.JoinEscaped(words[:1], '\n')
		args = slices.Concat(args[:len(args)-len(words)], []string{name}, words[1:])
	}
}

// beginsWithName reports whether what kong takes for the command begins with the name of a lock.
func (r *runCmd) beginsWithName(parsed *kong.Context) bool {
	_, inEnv := os.LookupEnv("REDLOCK_NAME")
	switch {
	case slices.ContainsFunc(parsed.Path, func(p *kong.Path) bool { return p.Flag != nil && p.Flag.Name == "name" && !p.Resolved }):
		return false
	case r.Script != nil:
		return true
	}
	return slices.Contains(r.Command, "--") && (!inEnv || nested())
}
