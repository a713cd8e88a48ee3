package fleet

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/ory/dockertest/v3"
)

// shim is a shared library that moves the wall clock of the program that it is preloaded into.
//
//go:embed shim/clock.c
var shim []byte

// clocks is a folder of the machine with the compiled shim, and a file for each master's clock.
type clocks struct{ folder string }

// newClocks compiles the shim. An error says in one line what is missing.
func newClocks(ctx context.Context) (_ clocks, err error) {
	if runtime.GOOS != "linux" {
		return clocks{}, fmt.Errorf("no clock of a container can be moved from %s: the shim is compiled for Linux, by Linux", runtime.GOOS)
	}
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		return clocks{}, errors.New("gcc is missing: it compiles the shim that moves the masters' clocks")
	}
	folder, err := os.MkdirTemp("", "redlock-test-clocks")
	if err != nil {
		return clocks{}, err
	}
	// Without any library, so that it can be loaded into the programs of images with another libc.
	gcc := exec.CommandContext(ctx, compiler, "-shared", "-fPIC", "-O2", "-nostdlib", "-fno-stack-protector",
		"-x", "c", "-o", filepath.Join(folder, "clock.so"), "-")
	gcc.Stdin = bytes.NewReader(shim)
	if out, err := gcc.CombinedOutput(); err != nil {
		return clocks{}, errors.Join(fmt.Errorf("compiling the clock shim: %w\n%s", err, out), os.RemoveAll(folder))
	}
	return clocks{folder}, nil
}

// add makes a clock that is right.
func (c clocks) add(master string) (*clock, error) {
	made := &clock{library: filepath.Join(c.folder, "clock.so"), file: filepath.Join(c.folder, master)}
	return made, made.set(func(*shown) {})
}

// clock is the wall clock of one master.
type clock struct {
	library, file string // of the machine

	mu      sync.Mutex
	version int64 // guarded by mu, as is setting
	setting shown // what the file says
}

// shown is one entry in the file, as shim/clock.c declares it: the clock shows Offset more than the
// right time, and since Since also Drift for each nanosecond. Times are in ns.
type shown struct {
	Offset, Since int64
	Drift         float64
}

// install gives a container the clock.
func (c *clock) install(options *dockertest.RunOptions) {
	options.Mounts = append(options.Mounts[:len(options.Mounts):len(options.Mounts)],
		c.library+":/clock/clock.so:ro", c.file+":/clock/setting:ro")
	options.Env = append(options.Env, "LD_PRELOAD=/clock/clock.so")
}

// set changes the setting, and writes it for the shim: first the entry that is not in use, then the
// version, which says that it is.
func (c *clock) set(change func(s *shown)) error {
	if c == nil {
		return errors.New("it cannot be moved without Config.Clocks")
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now().UnixNano()
	c.setting.Offset += int64(float64(now-c.setting.Since) * c.setting.Drift)
	c.setting.Since = now
	change(&c.setting)
	c.version++

	file, err := os.OpenFile(c.file, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	var entry, version bytes.Buffer
	_ = binary.Write(&entry, binary.NativeEndian, c.setting) // a Buffer takes everything
	_ = binary.Write(&version, binary.NativeEndian, c.version)
	_, err = file.WriteAt(entry.Bytes(), 8+(c.version%2)*int64(entry.Len()))
	if err == nil {
		_, err = file.WriteAt(version.Bytes(), 0)
	}
	return errors.Join(err, file.Close())
}

// MoveClock makes the master's wall clock jump by that much, forwards or, if it is less than 0,
// backwards. No other clock of it moves. It needs Config.Clocks, as do RunClock and RightClock.
func (m *Master) MoveClock(by time.Duration) error {
	return m.did("move clock of", m.clock.set(func(s *shown) { s.Offset += int64(by) }))
}

// RunClock makes the master's wall clock run at rate from now on: 1.05 is 5 % fast.
func (m *Master) RunClock(rate float64) error {
	return m.did("run clock of", m.clock.set(func(s *shown) { s.Drift = rate - 1 }))
}

// RightClock undoes all that MoveClock and RunClock did. A clock that was ahead jumps back.
func (m *Master) RightClock() error {
	return m.did("right clock of", m.clock.set(func(s *shown) { s.Offset, s.Drift = 0, 0 }))
}
