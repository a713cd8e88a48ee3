//go:build unix

package redlocktest

import "syscall"

// reserve keeps anybody else from being given a loopback port on which nobody listens, until release is
// called. Connections to it are refused as if nobody had it.
func reserve(port int) (release func()) {
	syscall.ForkLock.RLock()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err == nil {
		syscall.CloseOnExec(fd)
	}
	syscall.ForkLock.RUnlock()
	if err != nil {
		return func() {}
	}
	// Connections that the dead process had may not be over yet.
	_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1)
	_ = syscall.Bind(fd, &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}})
	return func() { _ = syscall.Close(fd) }
}
