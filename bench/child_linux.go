package main

import (
	"syscall"
	"time"
)

// childAttr keeps a Ctrl-C at the terminal away from the child, which this process ends itself, and
// has the kernel kill the child if this process dies.
func childAttr() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// nap sleeps for d to within some 50 µs, where timers of the runtime may be a millisecond late.
func nap(d time.Duration) {
	if d > 0 {
		rest := syscall.NsecToTimespec(d.Nanoseconds())
		_ = syscall.Nanosleep(&rest, nil) // a signal ends it early
	}
}
