// Package redisserver finds and starts the redis-server of this machine for tests that need a real one, finds other
// programs that tests need, and installs them where that needs nobody's consent: as root, on a system with apt-get.
package redisserver

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// ErrMissing says that there is no such program, and that it cannot be installed.
var ErrMissing = errors.New("is missing, and only root can install it, with apt-get")

// Path returns the path of redis-server, or "" if there is none.
//
// On Debian the program is in the package redis-tools, under the name redis-check-rdb: it acts as the
// program that argv[0] names, so start it with [Command]. The package redis-server would also start a
// service.
func Path() string {
	for _, name := range []string{"redis-server", "redis-check-rdb"} {
		if found, err := exec.LookPath(name); err == nil {
			return found
		}
	}
	return ""
}

// Find returns the path of redis-server, after installing it if need be.
func Find() (string, error) { return Need("redis-server", "redis-tools", Path) }

// Need returns what look finds, the path of a program or "", after installing the Debian package that has it if
// need be. It says so on stderr. The error matches [ErrMissing] if it cannot be installed.
func Need(program, debian string, look func() string) (string, error) {
	if found := look(); found != "" {
		return found, nil
	}
	if _, err := exec.LookPath("apt-get"); err != nil || os.Geteuid() != 0 {
		return "", fmt.Errorf("%s %w", program, ErrMissing)
	}
	if err := install(debian); err != nil {
		return "", err
	}
	if found := look(); found != "" {
		return found, nil
	}
	return "", fmt.Errorf("%s is installed but has no %s: install it by hand", debian, program)
}

func install(debian string) error {
	fmt.Fprintln(os.Stderr, "installing", debian, "with apt-get, for the tests")
	for _, args := range [][]string{
		{"update"},
		{"install", "-y", "--no-install-recommends", "-o", "DPkg::Lock::Timeout=120", debian},
	} {
		command := exec.Command("apt-get", args...)
		command.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
		if out, err := command.CombinedOutput(); err != nil {
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			return fmt.Errorf("apt-get %s: %w: %s", strings.Join(args, " "), err, lines[len(lines)-1])
		}
	}
	return nil
}

// Command returns the command that runs the program at path, which Find returned, as redis-server.
func Command(path string, args ...string) *exec.Cmd {
	command := exec.Command(path, args...)
	command.Args[0] = "redis-server"
	return command
}
