package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"strings"
	"syscall"
)

// options are the command line.
type options struct {
	trials     *regexp.Regexp
	contenders *regexp.Regexp
	rounds     int
	page       string
}

func main() {
	if to := os.Getenv(relays); to != "" {
		fmt.Fprintln(os.Stderr, "bench:", relay(strings.Fields(to)))
		os.Exit(1)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	opts, err := parse(os.Args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return
	case err != nil:
		os.Exit(2) // flag has said why
	}
	if err := realMain(ctx, opts, os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func parse(args []string) (options, error) {
	opts := options{trials: new(regexp.Regexp), contenders: new(regexp.Regexp)}
	set, all := flag.NewFlagSet("bench", flag.ContinueOnError), regexp.MustCompile("")
	set.TextVar(opts.trials, "run", all, "run only the trials whose `scenario/setting` matches this regexp")
	set.TextVar(opts.contenders, "contenders", all, "measure only the contenders whose `name` matches this regexp")
	set.IntVar(&opts.rounds, "rounds", 12, "measure each trial `n` times, and report medians")
	set.StringVar(&opts.page, "page", "", "write RESULTS.md to `folder`; with -run, only the sections of scenarios whose trials all match; ignored with -contenders, which would leave gaps")
	if err := set.Parse(args); err != nil {
		return opts, err
	}
	if set.NArg() > 0 || opts.rounds < 1 {
		fmt.Fprintln(set.Output(), "bench takes flags only; -rounds must be above 0")
		return opts, errors.New("usage")
	}
	return opts, nil
}

// realMain does the work of main. It returns once the masters have ended.
func realMain(ctx context.Context, opts options, out, log io.Writer) error {
	trials, contenders, err := choose(opts)
	if err != nil {
		return err
	}
	fleet, err := startFleet(ctx, mastersN)
	if err != nil {
		return err
	}
	defer fleet.close()

	r := &report{machine: describe(fleet, opts), out: out, log: log}
	fmt.Fprintln(out, r.machine)
	e := &env{fleet: fleet}
	if err := measureAll(ctx, e, trials, contenders, opts.rounds, r); err != nil {
		return err
	}
	if opts.page != "" && opts.contenders.String() == "" {
		return r.writePage(opts.page, allTrials())
	}
	return nil
}

// choose returns the trials and contenders that the options select, or an error if there are none.
func choose(opts options) ([]trial, []contender, error) {
	var contenders []contender
	for _, c := range slices.Concat(ours, redsyncs, singles, []contender{limit}) {
		if opts.contenders.MatchString(c.name) {
			contenders = append(contenders, c)
		}
	}
	var trials []trial
	for _, t := range allTrials() {
		if opts.trials.MatchString(t.id()) && len(t.suited(contenders)) > 0 {
			trials = append(trials, t)
		}
	}
	if len(trials) == 0 {
		return nil, nil, errors.New("-run or -contenders matches nothing")
	}
	return trials, contenders, nil
}
