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

// TestMain prepares the machine, or says in one line what is missing.
func TestMain(m *testing.M) {
	var err error
	if machine.engine, err = containers.Prepare(); err == nil {
		machine.folder, err = os.MkdirTemp("", "redlock-test")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(machine.folder)
	os.Exit(code)
}
