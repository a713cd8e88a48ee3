//go:build unix && !linux

package main

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// childAttr: these systems have no parent-death signal. If redlock is killed, the command runs on.
func childAttr(own bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: own}
}

// adoptOrphans does nothing: these systems have no such call, so the group stands for the tree.
func (c *child) adoptOrphans() {}

// reap waits for the command and, if the command has a group of its own, until that group is empty.
func (c *child) reap() {
	defer close(c.gone)
	for {
		var ws unix.WaitStatus
		_, err := unix.Wait4(c.pid, &ws, unix.WUNTRACED|unix.WCONTINUED, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			c.exited <- exitSoftware
			return
		}
		if lives, halted := haltOnBSD(uint32(ws)); lives {
			c.halted.Store(halted)
			continue
		}
		c.exited <- exitCode(ws)
		break
	}
	for c.own && unix.Kill(-c.pid, 0) == nil {
		time.Sleep(10 * time.Millisecond)
	}
}

// signal sends s to the command's own group, or to the command if it has none.
func (c *child) signal(s syscall.Signal) error {
	if c.own {
		return send(-c.pid, s)
	}
	return send(c.pid, s)
}
