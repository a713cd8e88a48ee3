package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/redlock/internal/check"
	"example.com/redlock/internal/redisserver"
	"example.com/redlock/redlocktest"
)

// blocks returns the blocks of README.md in a language, in their order.
func blocks(t *testing.T, language string) (blocks []string) {
	t.Helper()
	for _, match := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(check.File(t, "../../README.md"), -1) {
		blocks = append(blocks, match[1])
	}
	if len(blocks) == 0 {
		t.Fatalf("README.md has no %s block", language)
	}
	return blocks
}

// The program in README.md is main.go, to the letter.
func TestReadmeProgram(t *testing.T) {
	if code := blocks(t, "go")[0]; !strings.HasSuffix(check.File(t, "main.go"), "\n"+code) {
		t.Errorf("README.md shows another program than main.go:\n%s", code)
	}
}

// The program takes the lock and gives it back.
func TestRun(t *testing.T) {
	fleet := redlocktest.Start(t, 5)
	check.OK(t, run(t.Context(), fleet.URLs()...))
	for _, master := range fleet.Masters() {
		check.Equal(t, master.Holder("orders:42"), "", "the holder at %s", master.Name())
	}
}

// The commands in README.md take a newcomer to the first lock: on five masters of their own, which
// grant nothing for their first half minute, and then on the three that are left.
func TestReadmeCommands(t *testing.T) {
	server, err := redisserver.Find() // and redis-cli is beside it
	check.OK(t, err)
	if _, err := exec.LookPath("redis-server"); err != nil { // on Debian it may have another name
		folder := t.TempDir()
		check.OK(t, os.Symlink(server, filepath.Join(folder, "redis-server")))
		t.Setenv("PATH", folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	}
	start, fewer, stop := blocks(t, "sh")[0], blocks(t, "sh")[1], blocks(t, "sh")[2]
	stopped := false
	defer func() {
		if !stopped {
			_ = exec.Command("sh", "-c", strings.ReplaceAll(stop, "7003;", "7003 7004 7005;")).Run()
		}
	}()
	shell := exec.CommandContext(t.Context(), "sh", "-e")
	shell.Dir = "../.."
	shell.Stdin = strings.NewReader(start + fewer + stop)
	out, err := shell.CombinedOutput()
	stopped = err == nil
	if n := strings.Count(string(out), "shipping order 42, with fencing token "); err != nil || n != 2 {
		t.Errorf("the commands in README.md: %v, with %d locks, want 2\n%s", err, n, out)
	}
}

// The commands in README.md make a module of one's own use the checkout.
func TestReadmeModule(t *testing.T) {
	checkout, err := filepath.Abs("../..")
	check.OK(t, err)
	folder := t.TempDir()
	check.OK(t, os.WriteFile(filepath.Join(folder, "main.go"), []byte(check.File(t, "main.go")), 0o600))
	use := strings.ReplaceAll(blocks(t, "sh")[3], "../redlock", checkout)
	shell := exec.CommandContext(t.Context(), "sh", "-e")
	shell.Dir = folder
	shell.Stdin = strings.NewReader("go mod init hello\n" + use + "go build -o hello .\n")
	if out, err := shell.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
