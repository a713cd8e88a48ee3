// Package skew builds programs whose wall clock is off.
package skew

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// variable is the environment variable with the number of seconds by which the wall clock is off.
const variable = "REDLOCK_TEST_SKEW"

// now is added to package time of a skewed program. Only the wall clock is off. Code that measures time
// uses the monotonic clock, which stays right.
const now = `package time

import "syscall"

var skew = readSkew()

func readSkew() uint64 {
	text, found := syscall.Getenv("` + variable + `")
	if !found {
		return 0
	}
	seconds, err := atoi(text)
	if err != nil {
		panic("` + variable + `: " + err.Error())
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

// Env returns the setting of the environment that puts the wall clock of a program off by d, in whole
// seconds. The program must be built with an Overlay; without this setting its clock is right.
func Env(d time.Duration) string {
	return fmt.Sprintf("%s=%.0f", variable, d.Seconds())
}

// Overlay writes an overlay for go build -overlay into folder, in which time.Now is off by what Env says,
// and returns its file. Go reads the clock without libc, so the clock cannot be intercepted at run time,
// and the library has no hook for it.
func Overlay(ctx context.Context, folder string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return "", err
	}
	const old, renamed = "\nfunc Now() Time {\n", "\nfunc rightNow() Time {\n"
	standard := filepath.Join(strings.TrimSpace(string(root)), "src", "time")
	source, err := os.ReadFile(filepath.Join(standard, "time.go"))
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), old); n != 1 {
		return "", fmt.Errorf("%s has %q %d times, want once: this Go is too different to skew its clock", standard, old, n)
	}
	replace := map[string]string{}
	for name, text := range map[string]string{
		"time.go": strings.Replace(string(source), old, renamed, 1),
		"skew.go": now,
	} {
		file := filepath.Join(folder, name)
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			return "", err
		}
		replace[filepath.Join(standard, name)] = file
	}
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	file := filepath.Join(folder, "overlay.json")
	return file, os.WriteFile(file, overlay, 0o644)
}
