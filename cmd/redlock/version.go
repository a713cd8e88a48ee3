package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"
)

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(std streams) error {
	_, err := fmt.Fprintln(std.out, version())
	return err
}

// version says which source this program was built from, as far as the Go tool recorded it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "redlock (no build information)"
	}
	return describe(info)
}

func describe(info *debug.BuildInfo) string {
	parts := []string{"redlock", cmp.Or(info.Main.Version, "(devel)")}
	settings := make(map[string]string)
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if rev := settings["vcs.revision"]; rev != "" {
		rev = rev[:min(12, len(rev))]
		if settings["vcs.modified"] == "true" {
			rev += "+changes"
		}
		parts = append(parts, rev)
	}
	if info.GoVersion != "" {
		parts = append(parts, info.GoVersion)
	}
	return strings.Join(parts, " ")
}
