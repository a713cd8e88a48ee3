package main

import "example.com/redlock/internal/history"

// MayFail reports whether the documentation of a method has such an error.
func (l *locker) MayFail(do history.Do, as history.Failure) bool {
	if as == history.Ended || as == history.Closed {
		return true // if they have, which package workload checks
	}
	switch do {
	case history.Lock, history.LockFor, history.LockAll, history.RLock, history.Acquire:
		return false // an outage that does not pass by itself is not among the faults of a trial
	case history.TryLock, history.TryRLock, history.TryAcquire:
		return as == history.Taken || as == history.NoQuorum
	case history.Enter:
		// The context is the hold's, which ends with the loss as its cause.
		return as == history.Upgrade || as == history.NoLock
	case history.Extend, history.Downgrade, history.Unlock, history.Leave:
		return as == history.NoLock || as == history.NoQuorum
	}
	return do == history.CloseClient && as == history.NoQuorum
}
