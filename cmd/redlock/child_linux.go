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

// childAttr makes the kernel kill the command if redlock dies without ending it, by KILL or a crash. What the command
// started lives on.
func childAttr(own bool) *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: own, Pdeathsig: syscall.SIGKILL}
}

// adoptOrphans makes redlock the parent of every descendant whose own parent has died. So no
// descendant can leave the tree, and redlock can walk the tree and wait for its end.
func (c *child) adoptOrphans() {
	_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
	helpers := make(map[string]bool)
	for _, p := range c.descendants() {
		helpers[p.born] = true
	}
	c.helpers = helpers
}

// reap waits for every process of the tree: until there is none, or none but helpers as far as the process table shows.
func (c *child) reap() {
	defer close(c.gone)
	for ended := false; !ended || len(c.helpers) == 0 || len(c.descendants()) > 0; {
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
			ended = true
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
	for _, p := range c.descendants() {
		if !c.own || p.group != c.pid {
			err = cmp.Or(err, send(p.pid, s))
		}
	}
	return err
}

// process is one entry of the process table.
type process struct {
	pid, parent, group int
	born               string // its pid and when it started: no other has both
}

// descendants lists the processes below this one, but for helpers and what is below those.
func (c *child) descendants() (found []process) {
	children := make(map[int][]process)
	for _, p := range processes() {
		children[p.parent] = append(children[p.parent], p)
	}
	for next := children[os.Getpid()]; len(next) > 0; next = next[1:] {
		if !c.helpers[next[0].born] {
			found = append(found, next[0])
			next = append(next, children[next[0].pid]...)
		}
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
	if fields := bytes.Fields(behind); len(fields) > 19 {
		p.born = fmt.Sprintf("%d %s", pid, fields[19])
	}
	return p, true
}
