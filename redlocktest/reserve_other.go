//go:build !unix

package redlocktest

// reserve does nothing here: a port on which nobody listens may be given to somebody else.
func reserve(int) (release func()) { return func() {} }
