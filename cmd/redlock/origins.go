package main

import (
	"os"
	"strings"

	"github.com/alecthomas/kong"
)

// origins has the name to use for each flag in an error, by where its value came from: "--lease" for
// the command line, "REDLOCK_LEASE" for the environment, "redlock.toml: lease" for a configuration file.
type origins map[string]string

func originsOf(parsed *kong.Context, file *configFile) origins {
	from := make(origins)
	for _, flag := range parsed.Flags() {
		from[flag.Name] = "--" + flag.Name
		if _, ok := file.values[flag.Name]; ok {
			from[flag.Name] = file.path + ": " + strings.ReplaceAll(flag.Name, "-", "_")
		}
		for _, variable := range flag.Envs {
			if _, set := os.LookupEnv(variable); set {
				from[flag.Name] = variable
			}
		}
	}
	for _, element := range parsed.Path {
		if element.Flag != nil && !element.Resolved {
			from[element.Flag.Name] = "--" + element.Flag.Name
		}
	}
	return from
}

// onLine reports whether the flag's value is from the command line or is its default.
func (from origins) onLine(flag string) bool { return from[flag] == "--"+flag }

// rank is higher for a value that wins: 2 on the command line, 1 in the environment, 0 in a file.
func (from origins) rank(flag string) int {
	switch {
	case from.onLine(flag):
		return 2
	case strings.HasPrefix(from[flag], "REDLOCK_"):
		return 1
	}
	return 0
}
