package main

import (
	"os"

	"github.com/alecthomas/kong"
)

// origins has the name to use for each flag in an error, by where its value came from: "--lease" for
// the command line, "REDLOCK_LEASE" for the environment.
type origins map[string]string

func originsOf(parsed *kong.Context) origins {
	from := make(origins)
	for _, flag := range parsed.Flags() {
		from[flag.Name] = "--" + flag.Name
		for _, variable := range flag.Envs {
			if _, set := os.LookupEnv(variable); set {
				from[flag.Name] = variable
			}
		}
	}
	for _, element := range parsed.Path {
		if element.Flag != nil {
			from[element.Flag.Name] = "--" + element.Flag.Name
		}
	}
	return from
}

// onLine reports whether the flag's value is from the command line or is its default.
func (from origins) onLine(flag string) bool { return from[flag] == "--"+flag }
