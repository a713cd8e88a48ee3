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
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/ory/dockertest/v3"
	"github.com/ory/dockertest/v3/docker"
)

// actWait is how long an act on a container may take, by a Docker engine that has much else to do.
const actWait = 2 * time.Minute

// Kill ends the server with SIGKILL: nothing is flushed, connections break.
func (m *Master) Kill() error { return m.end("kill", docker.SIGKILL) }

// Stop ends the server with SIGTERM, as a planned restart does.
func (m *Master) Stop() error { return m.end("stop", docker.SIGTERM) }

func (m *Master) end(act string, signal docker.Signal) error {
	ctx, cancel := context.WithTimeout(context.Background(), actWait)
	defer cancel()
	client, id := m.fleet.engine.docker.Client, m.container()
	err := client.KillContainer(docker.KillContainerOptions{ID: id, Signal: signal, Context: ctx})
	if err == nil {
		_, err = client.WaitContainerWithContext(id, ctx)
	}
	return m.did(act, err)
}

// Start brings an ended master back at its address, empty unless it is durable.
func (m *Master) Start() error {
	ctx, cancel := context.WithTimeout(context.Background(), actWait)
	defer cancel()
	err := m.fleet.engine.docker.Client.StartContainerWithContext(m.container(), nil, ctx)
	if err == nil {
		err = m.ready(ctx)
	}
	return m.did("start", err)
}

// Replace removes the master for good, whatever its state, and starts a new and empty one at its address.
// What the clock shows stays as it was moved.
func (m *Master) Replace() error {
	ctx, cancel := context.WithTimeout(context.Background(), actWait)
	defer cancel()
	err := remove(m.fleet.engine.docker.Client, m.container())
	if err == nil {
		err = m.create(ctx)
	}
	if err == nil {
		err = m.ready(ctx)
	}
	return m.did("replace", err)
}

// Pause freezes the server: connections stay, new ones are accepted by the kernel, and
// commands wait in its buffers until Unpause.
func (m *Master) Pause() error {
	var err error
	for range 5 { // on a busy machine Docker may give up before a container is frozen, and thaws it
		if err = m.fleet.engine.docker.Client.PauseContainer(m.container()); err == nil {
			break
		}
	}
	return m.did("pause", err)
}

// Unpause ends what Pause began.
func (m *Master) Unpause() error {
	return m.did("unpause", m.fleet.engine.docker.Client.UnpauseContainer(m.container()))
}

// container returns the id of the container that is the master now.
func (m *Master) container() string { return m.resource.Load().Container.ID }

// did returns err with what was done to whom.
func (m *Master) did(act string, err error) error {
	if err != nil {
		return fmt.Errorf("%s %s: %w", act, m.Name(), err)
	}
	return nil
}

// Flush deletes all keys.
func (m *Master) Flush() error { return m.tell("flush", "FLUSHALL") }

// FlushScripts makes the server forget all scripts.
func (m *Master) FlushScripts() error { return m.tell("flush scripts of", "SCRIPT", "FLUSH") }

// KillClients closes all connections of clients, those of subscribers too.
func (m *Master) KillClients() error {
	return errors.Join(
		m.tell("kill subscribers of", "CLIENT", "KILL", "TYPE", "pubsub"),
		m.tell("kill clients of", "CLIENT", "KILL", "TYPE", "normal"))
}

// Demote makes the master a replica of a server that does not exist: it keeps its data and refuses writes,
// until Promote or a restart.
func (m *Master) Demote() error { return m.tell("demote", "REPLICAOF", "127.0.0.1", "1") }

// Promote makes it a master again.
func (m *Master) Promote() error { return m.tell("promote", "REPLICAOF", "NO", "ONE") }

// tell sends a command that only has to succeed.
func (m *Master) tell(act, command string, args ...any) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	_, err := m.Do(command, args...)
	return m.did(act, err)
}

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

// scriptWait is how long the server may take to begin a script, and to answer when it has ended.
const scriptWait = patience

// Occupy keeps the server busy for d with a script, and returns when it is free again. Until then nobody
// gets an answer, and then what was sent meanwhile is answered with BUSY. It costs a core.
func (m *Master) Occupy(d time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.did("occupy", m.occupy(d))
}

// occupy leaves it to the server to measure the time: once the script has run for lua-time-limit, and not before, the
// server reads what clients have sent, and finds that it is to kill the script. If that command did not get through, the
// script would end by itself after a minute or so.
func (m *Master) occupy(d time.Duration) error {
	waits := redis.DialReadTimeout(d + scriptWait)
	busy, err := m.Dial(waits)
	if err != nil {
		return err
	}
	defer busy.Close()
	other, err := m.Dial(waits)
	if err != nil {
		return err
	}
	defer other.Close()

	const limit = "lua-time-limit"
	usual, err := configured(busy, limit)
	if err != nil {
		return err
	}
	if err := configure(busy, limit, strconv.FormatInt(max(1, d.Milliseconds()), 10)); err != nil {
		return err
	}
	if err := errors.Join(busy.Send("EVAL", "for i = 1, 1e10 do end", 0), busy.Flush()); err != nil {
		return err
	}
	for began := time.Now(); ; { // Docker's proxy may deliver what was sent later first
		_, err = other.Do("SCRIPT", "KILL")
		if err == nil || !strings.HasPrefix(err.Error(), "NOTBUSY") || time.Since(began) > scriptWait {
			break
		}
	}
	if err != nil {
		return err
	}
	if _, err := busy.Receive(); err == nil || !strings.Contains(err.Error(), "killed") {
		return fmt.Errorf("the script ended with %v", err)
	}
	return configure(other, limit, usual)
}

// Fill leaves the server no memory until Drain or a restart: it refuses to store anything, and forgets nothing.
func (m *Master) Fill() error { return m.tell("fill", "CONFIG", "SET", "maxmemory", "1") }

// Drain undoes what Fill did.
func (m *Master) Drain() error { return m.tell("drain", "CONFIG", "SET", "maxmemory", "0") }

// forget deletes a key that is picked at random, if there is any.
const forget = "local key = redis.call('RANDOMKEY'); return key and redis.call('DEL', key)"

// Evict deletes a random key. To clients that is what a server does that evicts keys because its memory is short.
func (m *Master) Evict() error { return m.tell("evict a key of", "EVAL", forget, 0) }

// configure changes a setting of a server.
func configure(conn redis.Conn, name, value string) error {
	_, err := conn.Do("CONFIG", "SET", name, value)
	return err
}

// configured returns a setting of a server.
func configured(conn redis.Conn, name string) (string, error) {
	settings, err := redis.StringMap(conn.Do("CONFIG", "GET", name))
	return settings[name], err
}
