package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// childAttr has the kernel kill the command if redlock dies without ending it, by KILL or a crash.
// That kills the command itself, but not what it started.
func childAttr(own bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: own, Pdeathsig: syscall.SIGKILL}
}

// adoptOrphans makes redlock the parent of every descendant whose own parent has died. So no
// descendant can leave the tree, and redlock can walk the tree and wait for its end.
func adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
}

// reap waits for every process of the tree.
func (c *child) reap() {
	defer close(c.gone)
	for {
		var ws unix.WaitStatus
		pid, err := unix.Wait4(-1, &ws, unix.WUNTRACED|unix.WCONTINUED, nil)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil {
			return // ECHILD: no process is left
		}
		switch {
		case pid != c.pid:
		case ws.Stopped() || ws.Continued():
			c.halted.Store(ws.Stopped())
		default:
			c.exited <- exitCode(ws)
		}
	}
}

// signal sends s once to every process of the tree: to the group with one system call, which misses
// none, and to the others one by one.
func (c *child) signal(s syscall.Signal) (err error) {
	if c.own {
		err = send(-c.pid, s)
	}
	for _, p := range descendants(os.Getpid()) {
		if !c.own || p.group != c.pid {
			err = cmp.Or(err, send(p.pid, s))
		}
	}
	return err
}

// process is one entry of the process table.
type process struct{ pid, parent, group int }

// descendants lists the processes below root, without root itself.
func descendants(root int) []process {
	children := make(map[int][]process)
	for _, p := range processes() {
		children[p.parent] = append(children[p.parent], p)
	}
	var found []process
	for next := children[root]; len(next) > 0; {
		p := next[0]
		found = append(found, p)
		next = append(next[1:], children[p.pid]...)
	}
	return found
}

// processes reads the process table. It leaves out processes that end meanwhile.
func processes() (all []process) {
	entries, _ := os.ReadDir("/proc") // none without it
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		stat, _ := os.ReadFile("/proc/" + entry.Name() + "/stat") // empty if it has ended
		if p, ok := parseStat(pid, stat); ok {
			all = append(all, p)
		}
	}
	return all
}

// parseStat parses "pid (name) state parent group …", see proc(5). The name may contain anything, even
// brackets and spaces; what follows contains no brackets.
func parseStat(pid int, stat []byte) (process, bool) {
	p, state := process{pid: pid}, ""
	behind := stat[bytes.LastIndexByte(stat, ')')+1:]
	if _, err := fmt.Sscan(string(behind), &state, &p.parent, &p.group); err != nil {
		return process{}, false
	}
	return p, true
}
