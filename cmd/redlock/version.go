package main

import (
	"cmp"
	"fmt"
	"runtime/debug"
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
	return fmt.Sprintf("redlock %s %s", cmp.Or(info.Main.Version, "(devel)"), info.GoVersion)
}
