//go:build !linux

package boottime

import "time"

// Now returns the time by the wall clock, which all processes of the machine share too, as long as nobody
// sets it.
func Now() time.Duration { return time.Duration(time.Now().UnixNano()) }
