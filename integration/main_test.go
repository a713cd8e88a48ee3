package integration

import (
	"fmt"
	"os"
	"testing"

	containers "example.com/redlock/integration/fleet"
)

// machine is what all tests share, and TestMain prepares.
var machine struct {
	engine *containers.Engine
	folder string // for programs that tests build
}

// TestMain prepares the machine, or says in one line what is missing. In a process that a test
// started as a waiter, it runs that waiter.
func TestMain(m *testing.M) {
	if masters := os.Getenv(waiterVariable); masters != "" {
		fmt.Fprintln(os.Stderr, "waiter:", runWaiter(masters))
		os.Exit(1)
	}
	if err := prepare(); err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(machine.folder)
	os.Exit(code)
}

func prepare() (err error) {
	if machine.engine, err = containers.Prepare(); err != nil {
		return err
	}
	machine.folder, err = os.MkdirTemp("", "redlock-test")
	return err
}
