//go:build unix && !linux

package main

import "syscall"

// childAttr keeps a Ctrl-C at the terminal away from the child, which this process ends itself.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
