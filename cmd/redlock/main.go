package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// streams are the three standard files of a process: files rather than readers and writers, so that the command of
// redlock run inherits them, nothing is copied, and a terminal stays a terminal.
type streams struct {
	in, out, err *os.File
}

// cli is the command line. kong fills it in, as the tags say.
type cli struct {
	Run        runCmd        `cmd:"" help:"Run a command while the lock is held."`
	Hold       holdCmd       `cmd:"" help:"Hold a lock until stdin closes: for scripts and other programs."`
	Inspect    inspectCmd    `cmd:"" help:"Show who holds a lock, master by master, without taking it."`
	List       listCmd       `cmd:"" help:"List the names that are held, and who holds them."`
	Clients    clientsCmd    `cmd:"" help:"Show who uses these masters, and whether all use the same."`
	Doctor     doctorCmd     `cmd:"" help:"Examine the masters: are locks safe there, and if not, what to do."`
	UI         uiCmd         `cmd:"" name:"ui" help:"Serve a page on this machine that shows the masters, who holds what, and who waits."`
	Unlock     unlockCmd     `cmd:"" help:"Free a lock, whoever holds it."`
	Demo       demoCmd       `cmd:"" help:"Watch a lock survive the death of its masters; nothing to install."`
	Help       helpCmd       `cmd:"" help:"Print the help of a command, or on config or exit-codes."`
	Completion completionCmd `cmd:"" help:"Print a script that completes command lines in bash, zsh or fish."`
	Version    versionCmd    `cmd:"" help:"Print the version."`

	VersionFlag kong.VersionFlag `name:"version" help:"Print the version and exit."`

	file configFile
}

func main() {
	os.Exit(realMain(os.Args[1:], streams{in: os.Stdin, out: os.Stdout, err: os.Stderr}))
}

// realMain does the work of main, and returns the exit code.
func realMain(args []string, std streams) int {
	helpTo := std.out
	if len(args) == 0 {
		args, helpTo = []string{"--help"}, std.err
	}
	code, err := dispatch(args, std, helpTo)
	if err != nil {
		fmt.Fprintf(std.err, "redlock: %s\n", plain(err))
	}
	if helpTo == std.err {
		return exitUsage // no arguments at all: the help takes the place of an error
	}
	return code
}

func dispatch(args []string, std streams, helpTo io.Writer) (int, error) {
	line, parsed, answered, err := parse(args, helpTo, std.err)
	if answered {
		return 0, nil
	}
	if line.file.err != nil {
		return exitUsage, line.file.err
	}
	if parseErr, ok := errors.AsType[*kong.ParseError](err); ok {
		return exitUsage, fmt.Errorf("%s (%s --help says more)", inOurWords(parseErr, &line.file), where(parseErr.Context))
	}
	if err == nil {
		for _, warning := range append(line.file.exposed(parsed), misspelt(parsed.Model)...) {
			fmt.Fprintf(std.err, "redlock: warning: %s\n", warning)
		}
		err = parsed.Run(std, originsOf(parsed, &line.file))
	}
	if exit, ok := errors.AsType[*exitError](err); ok {
		return exit.code, exit.err
	}
	if errors.Is(err, syscall.EPIPE) {
		return exitSignal + 13, nil // as if PIPE had ended it, which --watch catches
	}
	if err != nil {
		return exitSoftware, err
	}
	return 0, nil
}

// misspelt returns a warning for each variable that is nearly one of ours. Other variables that begin with REDLOCK_ may be
// anybody's: Kubernetes sets REDLOCK_SERVICE_HOST.
func misspelt(model *kong.Application) (warnings []string) {
	known := []string{"REDLOCK_TOKEN", "REDLOCK_SLOT", "REDLOCK_HELD"}
	for _, command := range model.Children {
		for _, flag := range command.Flags {
			known = append(known, flag.Envs...)
		}
	}
	for _, entry := range os.Environ() {
		name, _, _ := strings.Cut(entry, "=")
		if !strings.HasPrefix(name, "REDLOCK_") || slices.Contains(known, name) {
			continue
		}
		near := slices.MinFunc(known, func(a, b string) int { return apart(name, a) - apart(name, b) })
		if apart(name, near) <= 2 {
			warnings = append(warnings, fmt.Sprintf("there is no setting %s, did you mean %s?", name, near))
		}
	}
	return warnings
}

// apart returns how many bytes of the longer string are in neither the prefix nor the suffix that a and b have in common.
func apart(a, b string) int {
	if len(a) > len(b) {
		a, b = b, a
	}
	begin, end := 0, 0
	for begin < len(a) && a[begin] == b[begin] {
		begin++
	}
	for end < len(a)-begin && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	return len(b) - begin - end
}

// noValue matches what kong says of a flag without a value.
var noValue = regexp.MustCompile(`^--([a-z-]+): (?:missing value|expected \S+ value but got "([^"]*)" \((?:<EOL>|short flag|long flag)\))`)

// fromVariable matches what kong says of the variable that a value is from.
var fromVariable = regexp.MustCompile(` \(from envar .*\)$`)

// inOurWords returns the text of err. Of a wrong value it says where that is from, and of a missing one how to give it.
func inOurWords(err *kong.ParseError, file *configFile) string {
	if err.Context == nil {
		return err.Error()
	}
	if flag, unknown := strings.CutPrefix(err.Error(), "unknown flag "); unknown {
		flag, _, _ = strings.Cut(flag, ",")
		return cmp.Or(misplaced(err.Context, flag), err.Error())
	}
	match := noValue.FindStringSubmatch(err.Error())
	if match == nil {
		flag, rest, _ := strings.Cut(err.Error(), ":")
		origin, ok := originsOf(err.Context, file)[strings.TrimPrefix(flag, "--")]
		reason := fromVariable.ReplaceAllString(rest, "")
		if !ok || reason == rest && strings.HasPrefix(origin, "REDLOCK_") {
			return err.Error() // the value is on the command line, and there is a variable as well
		}
		return origin + ":" + reason
	}
	for _, flag := range err.Context.Flags() {
		if flag.Name != match[1] {
			continue
		}
		text := fmt.Sprintf("--%s needs a value: --%[1]s=%s", flag.Name, flag.FormatPlaceHolder())
		if got := match[2]; strings.HasPrefix(got, "-") && !strings.HasPrefix(got, "--") {
			text += fmt.Sprintf(", and %q is none", got)
		}
		return text
	}
	return err.Error()
}

// misplaced says how to write a flag that kong does not know as it stands: with two dashes, or behind the command.
func misplaced(ctx *kong.Context, unknown string) string {
	for _, command := range ctx.Model.Children {
		for _, flag := range command.Flags {
			for _, arg := range ctx.Args {
				arg, _, _ = strings.Cut(arg, "=")
				switch {
				case command == ctx.Selected() && arg == "-"+flag.Name && strings.Contains(arg, unknown[1:]):
					return fmt.Sprintf("unknown flag %s: write -%[1]s", arg)
				case ctx.Selected() == nil && slices.Contains(ctx.Args, command.Name) && (unknown == "--"+flag.Name || unknown == "-"+string(flag.Short)):
					return fmt.Sprintf("unknown flag %s: it stands behind the command, redlock %s %[1]s", unknown, command.Name)
				}
			}
		}
	}
	return ""
}

// newParser returns a parser that fills in line. exit is called after help has been printed.
func newParser(line *cli, helpTo, complainTo io.Writer, exit func(int)) (*kong.Kong, error) {
	return kong.New(
		line,
		kong.Name("redlock"),
		kong.Description(description),
		kong.Help(printHelp),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 100, NoAppDescFormat: true}),
		kong.Writers(helpTo, complainTo),
		kong.Vars{"version": version()},
		kong.Exit(exit),
		kong.KindMapper(reflect.String, kong.MapperFunc(asItIs)),
		kong.Resolvers(kong.ResolverFunc(line.file.resolve)),
	)
}

// where returns the command that the user typed, such as "redlock run".
func where(parsed *kong.Context) string {
	if parsed == nil || parsed.Selected() == nil {
		return "redlock"
	}
	return parsed.Selected().FullPath()
}
