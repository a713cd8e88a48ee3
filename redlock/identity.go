package redlock

import (
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	"example.com/redlock/multilock/clients"
	"example.com/redlock/node/script"
)

// identity returns what the client says of itself.
func (cfg *Config) identity() clients.Identity {
	host, err := os.Hostname()
	if err != nil {
		host = "an unknown host"
	}
	return clients.Identity{
		Record: script.Record{Name: cfg.Name, Host: host, Program: program(), Version: version(), PID: os.Getpid(), Since: time.Now().UnixMilli()},
		Hidden: cfg.NoRecord, Addressed: len(cfg.Masters) > 0, Lease: cfg.MaxLease, Guard: max(cfg.RestartGuard, 0),
	}
}

// program returns the base name of the executable.
func program() string {
	path, err := os.Executable()
	if err != nil {
		path = os.Args[0]
	}
	name := filepath.Base(path)
	return name[:min(len(name), maxClientName)]
}

// module is the path of this module.
const module = "example.com/redlock"

// version returns the version of this library that the program was built with, as far as the Go tool
// recorded it.
var version = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, dep := range append(info.Deps, &info.Main) {
		if dep.Path == module && dep.Version != "" && dep.Replace == nil {
			return dep.Version
		}
	}
	return "(devel)"
})
