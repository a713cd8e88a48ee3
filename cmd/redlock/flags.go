package main

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// To the library, 0 means the default, and some negative durations mean "off". A user who writes 0 on
// a command line means neither, so each kind of flag refuses values that would be misunderstood.

// positive is a duration longer than 0.
type positive time.Duration

// UnmarshalText parses what the user wrote.
func (p *positive) UnmarshalText(text []byte) error {
	return parseDuration(p, text, 1, "is not a duration longer than 0, such as 30s")
}

// patience is a duration that may be 0.
type patience time.Duration

// UnmarshalText parses what the user wrote.
func (p *patience) UnmarshalText(text []byte) error {
	return parseDuration(p, text, 0, "is neither a duration such as 10s nor 0")
}

// guard is a duration, or the word off. 0 means off too.
type guard time.Duration

// UnmarshalText parses what the user wrote.
func (g *guard) UnmarshalText(text []byte) error {
	if string(text) != "off" {
		if err := parseDuration(g, text, 0, "is neither a duration such as 30s nor off"); err != nil || *g > 0 {
			return err
		}
	}
	*g = -1
	return nil
}

// parseDuration parses text, which must mean a duration of at least least. refusal is what it is otherwise.
func parseDuration[D ~int64](to *D, text []byte, least time.Duration, refusal string) error {
	d, err := time.ParseDuration(string(text))
	if err != nil || d < least {
		return fmt.Errorf("%q %s", text, refusal)
	}
	*to = D(d)
	return nil
}

// permits is how many permits there are of a name; 0 where the flag is not given.
type permits int

// UnmarshalText parses what the user wrote.
func (p *permits) UnmarshalText(text []byte) error {
	n, err := strconv.Atoi(string(text))
	if err != nil || n < 1 || n > 1000 {
		return fmt.Errorf("%q is not a number from 1 to 1000", text)
	}
	*p = permits(n)
	return nil
}

// anyPermits is --permits of commands that take none. They accept how many there are, as run and hold need it.
type anyPermits bool

// IsBool says that the flag needs no value.
func (anyPermits) IsBool() bool { return true }

// Decode parses what the user wrote.
func (a *anyPermits) Decode(ctx *kong.DecodeContext) error {
	*a = true
	text, given := optional(ctx, func(word string) bool { _, err := strconv.Atoi(word); return err == nil })
	if !given {
		return nil
	}
	return new(permits).UnmarshalText([]byte(text))
}

// optional returns the value of a flag that needs none: what follows its =, or the next word if isOne accepts that.
func optional(ctx *kong.DecodeContext, isOne func(word string) bool) (value string, given bool) {
	next := ctx.Scan.Peek()
	if next.Type != kong.FlagValueToken && (next.Type != kong.UntypedToken || !isOne(next.String())) {
		return "", false
	}
	return ctx.Scan.Pop().String(), true
}

// addresses are masters, separated by commas and perhaps spaces.
type addresses []string

// Decode parses what the user wrote. Behind a comma at the end, an address is missing, as before one at the beginning:
// kong would let the former pass.
func (a *addresses) Decode(ctx *kong.DecodeContext) error {
	token, err := ctx.Scan.PopValue("addresses")
	if err != nil {
		return err
	}
	all, listed := token.Value.(addresses) // of a file
	if !listed {
		if all = kong.SplitEscaped(token.String(), ','); strings.HasSuffix(token.String(), ",") {
			all = append(all, "")
		}
	}
	for _, one := range all {
		*a = append(*a, strings.TrimSpace(one))
	}
	return nil
}

// lockNames are names of locks. A value has one name on each line; a \ at the end of a line makes the line break part of
// the name. A file has a list of names, or one name.
type lockNames []string

// UnmarshalText takes a name of a file that is no list.
func (n *lockNames) UnmarshalText(text []byte) error {
	*n = lockNames{string(text)}
	return nil
}

// Decode parses what the user wrote. kong would leave out a name that is empty.
func (n *lockNames) Decode(ctx *kong.DecodeContext) error {
	token, err := ctx.Scan.PopValue("name")
	if err != nil {
		return err
	}
	if all, listed := token.Value.(lockNames); listed {
		*n = all
		return nil
	}
	text, name := token.String(), ""
	for line := range strings.Lines(text) {
		if begin, goesOn := strings.CutSuffix(line, "\\\n"); goesOn {
			name += begin + "\n"
			continue
		}
		*n, name = append(*n, name+strings.TrimSuffix(line, "\n")), ""
	}
	if name != "" || text == "" {
		*n = append(*n, name)
	}
	return nil
}

// asItIs leaves text as it is: kong would replace bytes that are not UTF-8, also in the command of redlock run.
func asItIs(ctx *kong.DecodeContext, target reflect.Value) error {
	token, err := ctx.Scan.PopValue("string")
	if err == nil {
		target.SetString(token.String())
	}
	return err
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
