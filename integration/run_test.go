package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// buildCommand builds the redlock program of this tree, once for all tests, and returns its path.
var buildCommand = sync.OnceValues(func() (string, error) {
	program := filepath.Join(machine.folder, "redlock")
	if runtime.GOOS == "windows" {
		program += ".exe"
	}
	out, err := exec.Command("go", "build", "-buildvcs=false", "-o", program, "example.com/redlock/cmd/redlock").CombinedOutput()
	if err != nil {
		err = fmt.Errorf("go build: %w\n%s", err, out)
	}
	return program, err
})

func builtCommand(t *testing.T) string {
	t.Helper()
	program, err := buildCommand()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// redlockRun returns the command that starts redlock run, as a user would in a shell.
func (f *fleet) redlockRun(ctx context.Context, program string, args ...string) *exec.Cmd {
	command := exec.CommandContext(ctx, program, append([]string{"run"}, args...)...)
	var masters []string
	for _, m := range f.masters {
		masters = append(masters, m.url())
	}
	command.Env = append(os.Environ(),
		"REDLOCK_MASTERS="+strings.Join(masters, ","),
		"REDLOCK_RESTART_GUARD=off",
		"REDLOCK_LEASE=3s",
		"REDLOCK_GRACE=500ms")
	return command
}

// TestRunTwice: when the same command is started twice, the two never overlap and both run, even when
// two of five masters are dead.
func TestRunTwice(t *testing.T) {
	t.Parallel()
	ctx := begin(t, 2*time.Minute)
	program := builtCommand(t)
	f := startFleet(ctx, t, fleetConfig{Masters: 5})
	both := func(t *testing.T) {
		journal := filepath.Join(t.TempDir(), "journal")
		var wg sync.WaitGroup
		for range 2 {
			wg.Go(func() {
				out, err := f.redlockRun(ctx, program, "--name", "nightly", "--", "sh", "-c",
					`echo begin $REDLOCK_NAME >>"$0"; sleep 1; echo end >>"$0"`, journal).CombinedOutput()
				if err != nil {
					t.Errorf("redlock run: %v\n%s", err, out)
				}
			})
		}
		wg.Wait()
		got, err := os.ReadFile(journal)
		if err != nil {
			t.Fatal(err)
		}
		if want := strings.Repeat("begin nightly\nend\n", 2); string(got) != want {
			t.Errorf("the two commands wrote\n%s\nwant\n%s", got, want)
		}
	}
	t.Run("five masters", both)
	for _, m := range f.masters[:2] {
		m.kill(ctx, t)
	}
	t.Run("two of five dead", both)
	f.wantFree(ctx, t, f.masters[2:], "nightly")
}

// TestRunPassesOn: redlock run passes on the command's exit code, and a script can ask who has the
// lock that it runs under, even where the masters require a password. The output never shows the
// password: only the environment of the command has it.
func TestRunPassesOn(t *testing.T) {
	const password = "open-sesame"
	ctx := begin(t, time.Minute)
	program := builtCommand(t)
	f := startFleet(ctx, t, fleetConfig{Masters: 3, Password: password})
	command := f.redlockRun(ctx, program, "-v", "--name", "nightly", "--", "sh", "-c", `"$0" inspect "$REDLOCK_NAME" && exit 42`, program)
	out, err := command.CombinedOutput()
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 42 {
		t.Errorf("redlock run = %v, want exit code 42\n%s", err, out)
	}
	if !bytes.Contains(out, []byte("held by")) {
		t.Errorf("redlock inspect in the command does not say that the lock is held:\n%s", out)
	}
	if bytes.Contains(out, []byte(password)) {
		t.Errorf("the output shows the password:\n%s", out)
	}
}

// TestRunLost: when a majority dies, the command is ended before anybody else can have its lock, and
// the exit code says that the lock was lost.
func TestRunLost(t *testing.T) {
	ctx := begin(t, time.Minute)
	program := builtCommand(t)
	f := startFleet(ctx, t, fleetConfig{Masters: 3})
	journal := filepath.Join(t.TempDir(), "journal")
	command := f.redlockRun(ctx, program, "--name", "nightly", "--", "sh", "-c",
		`trap 'echo term >>"$0"; exit 0' TERM; echo begin >>"$0"; for i in $(seq 600); do sleep 0.1; done`, journal)
	var said bytes.Buffer
	command.Stdout, command.Stderr = &said, &said
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	eventually(ctx, t, 10*time.Second, "the command runs", func() error { _, err := os.Stat(journal); return err })
	for _, m := range f.masters[:2] {
		m.kill(ctx, t)
	}
	start := time.Now()
	err := command.Wait()
	f.log.event("redlock run ended %v after the majority died: %v\n%s", time.Since(start), err, &said)
	exit, ok := errors.AsType[*exec.ExitError](err)
	if !ok || exit.ExitCode() != 76 {
		t.Errorf("redlock run = %v, want exit code 76\n%s", err, &said)
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("the command ended %v after the majority died, want at most the lease of 3s", took)
	}
	if got, err := os.ReadFile(journal); err != nil || string(got) != "begin\nterm\n" {
		t.Errorf("the command wrote %q, %v, want begin and term", got, err)
	}
}
