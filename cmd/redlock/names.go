package main

import (
	"os"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// nameArguments rewrites the arguments of redlock run so that names need no --name:
//
//	redlock run NAME... [flags] -- COMMAND [ARG...]
//	redlock run -c SCRIPT NAME... [flags]
//
// Where --name or REDLOCK_NAME names the lock, the first argument that is no flag begins the command,
// -- or not: lines that were written before names could stand there go on to mean what they meant. A
// redlock run inside another one has REDLOCK_NAME from that one, which is never what it should lock.
//
// kong cannot tell a name from a command, so it gets each name as a flag. What this function does not
// understand is left to kong and check to complain about.
func nameArguments(args []string, flags []*kong.Flag) []string {
	if len(args) == 0 || args[0] != "run" {
		return args
	}
	_, inEnv := os.LookupEnv("REDLOCK_NAME")
	inEnv = inEnv && !nested()
	var rest, names, others []string // from -- on; in front of it: names, and flags with their values
	script := false                  // -c stands in front of the first name
	for i := 1; i < len(args); i++ {
		if args[i] == "--" {
			rest = args[i:]
			break
		}
		if args[i] == "-" || !strings.HasPrefix(args[i], "-") {
			if inEnv && !script {
				return args
			}
			names = append(names, "--name="+kong.JoinEscaped([]string{args[i]}, '\n'))
			continue
		}
		flag, wantsNext := flagOf(args[i], flags)
		if flag == nil || flag.Name == "name" {
			return args
		}
		script = script || len(names) == 0 && flag.Name == "script"
		others = append(others, args[i])
		if wantsNext && i+1 < len(args) && args[i+1] != "--" {
			i++
			others = append(others, args[i])
		}
	}
	if len(names) == 0 || rest == nil && !script {
		return args
	}
	return slices.Concat([]string{"run"}, others, names, rest)
}

// flagOf returns the flag that an argument such as --wait=1s, --wait or -vc sets, the last one if there
// are several, and whether its value is the next argument. It returns nil if there is no such flag.
func flagOf(arg string, flags []*kong.Flag) (last *kong.Flag, wantsNext bool) {
	if long, ok := strings.CutPrefix(arg, "--"); ok {
		name, _, inline := strings.Cut(long, "=")
		for _, flag := range flags {
			if flag.Name == name {
				return flag, !inline && !flag.IsBool()
			}
		}
		return nil, false
	}
	for i, short := range arg[1:] {
		last = nil
		for _, flag := range flags {
			if flag.Short == short {
				last = flag
			}
		}
		if last == nil || !last.IsBool() {
			return last, i+2 == len(arg) // otherwise the value follows at once: -cSCRIPT
		}
	}
	return last, false
}

// oneName is the name that inspect and unlock are about.
type oneName struct {
	Argument *string `arg:"" optional:"" name:"name" help:"The lock's name."`
	Flag     *string `name:"name" placeholder:"NAME" help:"The lock's name: the same as the argument."`
}

// which returns the name, and what the user calls it. command is what to type, for the error that it is
// missing.
func (n *oneName) which(command string) (name, called string, err error) {
	switch {
	case n.Argument != nil && n.Flag != nil:
		return "", "", fail(exitUsage, "the name is given twice: %q, and --name %q", *n.Argument, *n.Flag)
	case n.Argument != nil:
		return *n.Argument, "<name>", nil
	case n.Flag != nil:
		return *n.Flag, "--name", nil
	}
	return "", "", fail(exitUsage, "no lock is named; write: %s NAME", command)
}
