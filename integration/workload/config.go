package workload

import (
	"errors"
	"flag"
	"fmt"
	"strings"
	"time"
)

// Config says what a client process does. A process gets it as flags: see [Config.Args].
type Config struct {
	Who      string   // the process, "c1"
	Masters  []string // host:port of its way to each master
	Register string   // host:port of the registers that the locks protect; empty: none
	Seed     uint64
	Began    time.Duration // when the run began, by boottime.Now
	Lease    time.Duration
	MaxLease time.Duration // the longest lease of LockFor
	Guard    time.Duration // of masters that restarted; negative: none

	// NodeTimeout is how long a master may take to answer. 0: the library's default.
	NodeTimeout time.Duration

	Locker  string        // which library, if the program has several
	Callers int           // how many goroutines take locks
	Think   time.Duration // how long a caller thinks between two visits, on average
	Out     string        // the file to which the process appends its events
}

// flags makes a flag for each field.
func (cfg *Config) flags() *flag.FlagSet {
	set := flag.NewFlagSet("client", flag.ContinueOnError)
	set.StringVar(&cfg.Who, "who", "", "name of this process in the history")
	set.Func("masters", "host:port of each master, separated by commas", func(s string) error {
		cfg.Masters = strings.Split(s, ",")
		return nil
	})
	set.StringVar(&cfg.Register, "register", "", "host:port of the registers")
	set.Uint64Var(&cfg.Seed, "seed", 0, "of what callers do")
	set.DurationVar(&cfg.Began, "began", 0, "when the run began, since the machine was booted")
	set.DurationVar(&cfg.Lease, "lease", 0, "of a lock")
	set.DurationVar(&cfg.MaxLease, "maxlease", 0, "longest lease")
	set.DurationVar(&cfg.Guard, "guard", 0, "how long a master that restarted grants nothing")
	set.DurationVar(&cfg.NodeTimeout, "nodetimeout", 0, "how long a master may take to answer")
	set.StringVar(&cfg.Locker, "locker", "", "library that is on trial")
	set.IntVar(&cfg.Callers, "callers", 4, "how many goroutines take locks")
	set.DurationVar(&cfg.Think, "think", 400*time.Millisecond, "pause of a caller between two visits, on average")
	set.StringVar(&cfg.Out, "out", "", "file to which the events are appended")
	return set
}

// Args returns the arguments with which a client process is started to have this Config.
func (cfg Config) Args() []string {
	var args []string
	masters := strings.Join(cfg.Masters, ",")
	for _, field := range []struct {
		name  string
		value any
	}{
		{"who", cfg.Who},
		{"masters", masters},
		{"register", cfg.Register},
		{"seed", cfg.Seed},
		{"began", cfg.Began},
		{"lease", cfg.Lease},
		{"maxlease", cfg.MaxLease},
		{"guard", cfg.Guard},
		{"nodetimeout", cfg.NodeTimeout},
		{"locker", cfg.Locker},
		{"callers", cfg.Callers},
		{"think", cfg.Think},
		{"out", cfg.Out},
	} {
		args = append(args, fmt.Sprintf("-%s=%v", field.name, field.value))
	}
	return args
}

// parse is the reverse of Args.
func parse(args []string) (Config, error) {
	var cfg Config
	set := cfg.flags()
	if err := set.Parse(args); err != nil {
		return Config{}, err
	}
	switch {
	case set.NArg() > 0:
		return Config{}, fmt.Errorf("unexpected arguments: %q", set.Args())
	case cfg.Who == "" || len(cfg.Masters) == 0 || cfg.Out == "" || cfg.Lease <= 0:
		return Config{}, errors.New("-who, -masters, -lease and -out are needed")
	case cfg.MaxLease < cfg.Lease:
		return Config{}, fmt.Errorf("-maxlease is %v, less than -lease, %v", cfg.MaxLease, cfg.Lease)
	case cfg.Callers < 1 || cfg.Think <= 0:
		return Config{}, errors.New("-callers and -think must be above 0")
	}
	return cfg, nil
}
