package redlock

import "example.com/redlock/redlocktrace"

// Trace is a set of functions that a client calls at each step of what it does, for metrics, spans
// and logs. Its fields and their events are in package redlocktrace, which also says when they are
// called and how: see [redlocktrace.Trace].
type Trace = redlocktrace.Trace
