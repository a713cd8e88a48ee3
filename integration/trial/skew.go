package trial

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"example.com/redlock/internal/overlay"
)

// Programs whose wall clock is off. Go reads the clock without libc, so the clock cannot be intercepted at run time, and
// the library has no hook for it.

// skewVariable is the environment variable with the number of seconds by which the wall clock is off.
const skewVariable = "REDLOCK_TEST_SKEW"

// skewedNow is added to package time of a skewed program. Only the wall clock is off. Code that measures time
// uses the monotonic clock, which stays right.
const skewedNow = `package time

import "syscall"

var skew = readSkew()

func readSkew() uint64 {
	text, found := syscall.Getenv("` + skewVariable + `")
	if !found {
		return 0
	}
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

// skewEnv returns the setting of the environment that puts the wall clock of a program off by d, in whole
// seconds. The program must be built with skewOverlay; without this setting its clock is right.
func skewEnv(d time.Duration) string {
	return fmt.Sprintf("%s=%.0f", skewVariable, d.Seconds())
}

// skewOverlay writes an overlay for go build -overlay into folder, in which time.Now is off by what skewEnv says,
// and returns its file.
func skewOverlay(ctx context.Context, folder string) (string, error) {
	source, err := overlay.Source(ctx)
	if err != nil {
		return "", err
	}
	files := overlay.Files{filepath.Join(source, "time", "skew.go"): skewedNow}
	if err := files.Apply(source, []overlay.Edit{{File: "time/time.go", Old: "func Now() Time {\n", New: "func rightNow() Time {\n"}}); err != nil {
		return "", fmt.Errorf("the clock of this Go cannot be skewed: %w", err)
	}
	return files.Write(folder)
}
