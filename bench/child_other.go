//go:build unix && !linux

package main

import (
	"syscall"
	"time"
)

// childAttr keeps a Ctrl-C at the terminal away from the child, which this process ends itself.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

// nap sleeps for d, or a millisecond longer.
func nap(d time.Duration) { time.Sleep(d) }
