// Command chaos runs trials, judges them and draws them.
//
//	go run ./integration/chaos -seed 7 -minutes 10
//	go run ./integration/chaos -seed 7 -minutes 2 -old COMMIT
//	go run ./integration/chaos -table
//	go run ./integration/chaos -judge out/history.jsonl
//
// A trial starts masters in containers and client processes, does all kinds of harm to both by a plan that
// the seed determines, and writes what happened to history.jsonl. The judge's report goes to report.txt, and
// the picture to picture.html. It exits with 1 if a promise was broken, or if the trial went wrong.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"example.com/redlock/integration/trial"
	"example.com/redlock/internal/history"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := command(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		stop()
		os.Exit(1)
	}
}

func command(ctx context.Context, args []string) error {
	cfg := trial.Config{Masters: 5}
	set := flag.NewFlagSet("chaos", flag.ContinueOnError)
	set.Uint64Var(&cfg.Seed, "seed", 1, "of the faults, and of what clients do")
	minutes := set.Float64("minutes", 10, "for how long there are faults")
	set.IntVar(&cfg.Clients, "clients", 5, "how many client processes")
	only := set.String("only", "", "kinds of faults, separated by commas; none: all")
	tabled := set.Bool("table", false, "try each kind of fault alone for 20 s, on a minority and on a majority, and print a table in Markdown")
	set.StringVar(&cfg.Out, "out", "", "folder for the history, the report and the picture; by default out/chaos-SEED")
	old := set.String("old", "", "commit of which two of four client processes are; none: all are of this one")
	judged := set.String("judge", "", "history to judge and to draw, instead of a trial")
	if err := set.Parse(args); err != nil {
		return err
	}
	if cfg.Clients < 1 || *minutes <= 0 {
		return errors.New("a trial has a client, and some time")
	}
	if *judged != "" {
		events, err := trial.ReadEvents(*judged)
		if err != nil {
			return err
		}
		h, err := history.Merge(events)
		if err != nil {
			return err
		}
		report, err := trial.Conclude(os.Stdout, filepath.Dir(*judged), h)
		return errors.Join(err, report.Err())
	}
	cfg.Lasts = time.Duration(*minutes * float64(time.Minute))
	cfg.Title = fmt.Sprintf("%d masters, %d clients, seed %d", cfg.Masters, cfg.Clients, cfg.Seed)
	if *only != "" {
		cfg.Only = strings.Split(*only, ",")
	}
	if cfg.Out == "" {
		cfg.Out = filepath.Join("out", fmt.Sprintf("chaos-%d", cfg.Seed))
	}
	folder, err := os.MkdirTemp("", "chaos")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	if cfg.Programs, err = trial.Build(ctx, folder, cfg.Only); err != nil {
		return err
	}
	if *old != "" {
		if cfg.Programs.Old, err = trial.BuildOld(ctx, folder, *old); err != nil {
			return err
		}
	}
	if *tabled {
		cfg.Lasts = 20 * time.Second
		return table(ctx, cfg)
	}
	if cfg.Replay = again(cfg); *old != "" {
		cfg.Replay += " -old " + *old
	}
	report, err := trial.Run(ctx, cfg, trial.NewPlan(cfg), os.Stdout)
	return errors.Join(err, report.Err())
}

// again returns the command that runs the trial of cfg once more.
func again(cfg trial.Config) string {
	line := fmt.Sprintf("go run ./integration/chaos -seed %d -minutes %v -clients %d", cfg.Seed, cfg.Lasts.Minutes(), cfg.Clients)
	if len(cfg.Only) > 0 {
		line += " -only " + strings.Join(cfg.Only, ",")
	}
	return line
}
