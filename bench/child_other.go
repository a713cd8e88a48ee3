//go:build unix && !linux

package main

import "syscall"

// childAttr keeps a Ctrl-C at the terminal away from a master, which main ends itself.
func childAttr() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
