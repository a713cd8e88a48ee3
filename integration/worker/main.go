// Command worker is a client process for the integration tests, which build and start it.
//
//	worker [flags] contend journal who      takes the lock again and again
//	worker [flags] permits n journal who    takes one of n permits again and again
//	worker [flags] share journal who        takes the lock again and again, for reading and for writing
//	worker [flags] read                     takes it once, for reading, and keeps it
//	worker [flags] wake how                 takes it once, and waits to be stopped and continued
//
// It prints one line when it begins, and one line with its findings when it ends. It ends when its
// standard input does, which the test holds open. It exits with 1 if it saw something forbidden.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"example.com/redlock/redlock"
)

// stay is how long at most each has a permit: long enough for others to have theirs meanwhile.
const stay = 4 * time.Millisecond

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "worker:", err)
		os.Exit(1)
	}
}

func run() error {
	masters := flag.String("masters", "", "addresses of the masters, separated by commas")
	name := flag.String("name", "", "what to lock")
	inLock := flag.Duration("stay", 0, "how long at most contend has the lock")
	var cfg redlock.Config
	flag.DurationVar(&cfg.Lease, "lease", 0, "Config.Lease")
	flag.DurationVar(&cfg.MaxLease, "maxlease", 0, "Config.MaxLease")
	flag.DurationVar(&cfg.RestartGuard, "guard", 0, "Config.RestartGuard")
	flag.Parse()
	cfg.Masters = strings.Split(*masters, ",")

	client, err := redlock.New(cfg)
	if err != nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	go func() { // ends with the standard input, or with the process
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	switch {
	case flag.NArg() == 3 && flag.Arg(0) == "contend":
		lock := func(ctx context.Context) (*redlock.Hold, error) { return client.Lock(ctx, *name) }
		return contend(ctx, lock, *inLock, flag.Arg(1), flag.Arg(2))
	case flag.NArg() == 4 && flag.Arg(0) == "permits":
		n, err := strconv.Atoi(flag.Arg(1))
		if err != nil {
			return err
		}
		return contend(ctx, client.Semaphore(*name, n).Acquire, stay, flag.Arg(2), flag.Arg(3))
	case flag.NArg() == 3 && flag.Arg(0) == "share":
		return share(ctx, client, *name, flag.Arg(1), flag.Arg(2))
	case flag.NArg() == 1 && flag.Arg(0) == "read":
		return read(ctx, client, *name)
	case flag.NArg() == 2 && flag.Arg(0) == "wake":
		return wake(ctx, client, *name, flag.Arg(1))
	}
	return fmt.Errorf("arguments %q are none of contend, permits, share, read and wake", flag.Args())
}

// say prints one line, for the test.
func say(format string, args ...any) {
	fmt.Println(fmt.Sprintf(format, args...))
}

// shown returns what the wall clock shows, in microseconds, the unit of tokens.
func shown() int64 { return time.Now().UnixMicro() }
