package main

import "syscall"

// childAttr keeps a Ctrl-C at the terminal away from a master, which main ends itself, and
// has the kernel end it should this process be killed.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
