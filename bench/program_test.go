package main

import (
	"slices"
	"testing"
)

func TestPackagesIn(t *testing.T) {
	const depends = "redis-tools\n  Depends: adduser\n  Depends: libatomic1\n  Depends: libc6\n" +
		"  Depends: liblzf1\n  PreDepends: dpkg\n  Depends: libsystemd0\n    libelogind0\n  Depends: <default-thing>\n"
	want := []string{"libatomic1", "liblzf1", "libsystemd0", "redis-tools"}
	if got := packagesIn([]byte(depends)); !slices.Equal(got, want) {
		t.Errorf("packagesIn = %v, want %v", got, want)
	}
}
