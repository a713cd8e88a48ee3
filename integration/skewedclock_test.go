package integration

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// skewVariable is the environment variable with the number of seconds by which the wall clock of a
// skewed worker is off.
const skewVariable = "REDLOCK_TEST_SKEW"

// skewedNow is added to package time of a skewed worker. Only the wall clock is off. Code that
// measures time uses the monotonic clock, which stays right.
const skewedNow = `package time

import "syscall"

var skew = readSkew()

func readSkew() uint64 {
	text, _ := syscall.Getenv("` + skewVariable + `")
	seconds, err := atoi(text)
	if err != nil {
		panic("` + skewVariable + `: " + err.Error())
	}
	return uint64(seconds) // of a negative number too: the sum below wraps around
}

// Now returns the time by a clock that is off.
func Now() Time {
	t := rightNow()
	t.wall += skew << nsecShift
	return t
}
`

// skewedClock writes an overlay for go build in which time.Now is off by what the environment says. Go
// reads the clock without libc, so the clock cannot be intercepted at run time, and the library has no
// hook for it.
func skewedClock(ctx context.Context, t *testing.T) string {
	t.Helper()
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	const now, renamed = "\nfunc Now() Time {\n", "\nfunc rightNow() Time {\n"
	folder := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	source, err := os.ReadFile(filepath.Join(folder, "time.go"))
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(source), now); n != 1 {
		t.Fatalf("%s has %q %d times, want once: this Go is too different to skew its clock", folder, now, n)
	}
	replace := map[string]string{}
	for name, text := range map[string]string{
		"time.go": strings.Replace(string(source), now, renamed, 1),
		"skew.go": skewedNow,
	} {
		file := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		replace[filepath.Join(folder, name)] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	if err := os.WriteFile(file, overlay, 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}
