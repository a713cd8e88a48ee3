package main

import "syscall"

// childAttr keeps a Ctrl-C at the terminal away from the child, which this process ends itself, and
// has the kernel kill the child if this process dies.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
