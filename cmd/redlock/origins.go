package main

import (
	"os"

	"github.com/alecthomas/kong"
)

// origins says for each flag what to call it in an error, by where its value came from: "--lease" on
// the line, "REDLOCK_LEASE" in the environment.
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

// onLine reports whether the flag stands on the command line, or nowhere.
func (from origins) onLine(flag string) bool { return from[flag] == "--"+flag }
