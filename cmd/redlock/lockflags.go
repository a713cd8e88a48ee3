package main

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// lockFlags say what to lock, and how. The commands that take locks have them.
type lockFlags struct {
	Name    []string  `sep:"\n" env:"REDLOCK_NAME" placeholder:"NAME" help:"What to lock: the same as an argument. Given several times, all are locked together; in the variable, one name per line."`
	Shared  bool      `help:"Lock for reading: together with others who do, and not beside anybody who does not."`
	Permits permits   `placeholder:"K" help:"Take one of K permits of that name, instead of locking it: at most K have one at the same time. Everybody should name the same K, 1 to 1000."`
	Lease   positive  `default:"30s" env:"REDLOCK_LEASE" help:"How long the masters grant the lock for; it is renewed every third of that. If this machine dies, others can get the lock after that time."`
	Wait    *patience `env:"REDLOCK_WAIT" placeholder:"DURATION" help:"How long to wait for the lock, such as 10s; 0 means one try. Default: forever."`
	NoWait  bool      `help:"Try once: the same as --wait=0."`
	Quiet   bool      `short:"q" help:"Do not say who holds the lock while waiting for it."`

	guardWhy string // why masters that restarted grant nothing for longer than by default, if the lease is why
}

// explainGuard sets guardWhy.
func (f *lockFlags) explainGuard(of *fleetFlags, from origins) {
	if f.Lease > positive(defaultLease) && of.MaxLease == 0 && of.RestartGuard == 0 && !of.NoGuard {
		f.guardWhy = fmt.Sprintf("because %s makes the guard %v", from["lease"], time.Duration(f.Lease))
	}
}

// unnamed reports whether nothing says what to lock. A name that is given and empty is another mistake.
func (f *lockFlags) unnamed(from origins) bool { return f.Name == nil && from.onLine("name") }

// check refuses what can be refused without asking a master.
func (f *lockFlags) check(from origins) error {
	if len(f.Name) == 0 {
		f.Name = []string{""} // which the library refuses
	}
	if f.NoWait && f.Wait != nil {
		if from.onLine("wait") {
			return fail(exitUsage, "--wait and --no-wait cannot be used together")
		}
		f.Wait = nil // from the environment: the flag wins
	}
	switch {
	case f.Shared && f.Permits > 0:
		return fail(exitUsage, "--shared and --permits cannot be used together: permits are not locked for reading")
	case len(f.Name) > 1 && f.Shared:
		return fail(exitUsage, "--shared takes one %s, not %d", from["name"], len(f.Name))
	case len(f.Name) > 1 && f.Permits > 0:
		return fail(exitUsage, "--permits takes one %s, not %d", from["name"], len(f.Name))
	}
	// The command of redlock run inherits REDLOCK_NAME, so a second redlock run inside the first would
	// ask for the same lock by default, and wait for the end of its own caller. The permits of a name are
	// another thing than its lock.
	if nested() && (os.Getenv("REDLOCK_SLOT") != "") == (f.Permits > 0) {
		outer := strings.Split(os.Getenv("REDLOCK_NAME"), "\n")
		for _, name := range f.Name {
			if slices.Contains(outer, name) {
				return fail(exitUsage, "this already runs inside a redlock run that holds %q (if it does not, unset REDLOCK_TOKEN)", name)
			}
		}
	}
	return nil
}

// nested reports whether this redlock runs under a redlock run, whose lock REDLOCK_NAME then names.
func nested() bool { return os.Getenv("REDLOCK_TOKEN") != "" }

// once reports whether there is only one try.
func (f *lockFlags) once() bool {
	return f.NoWait || (f.Wait != nil && *f.Wait == 0)
}

// quoted returns the names for a message.
func (f *lockFlags) quoted() string {
	quoted := make([]string, len(f.Name))
	for i, name := range f.Name {
		quoted[i] = strconv.Quote(name)
	}
	return strings.Join(quoted, ", ")
}
