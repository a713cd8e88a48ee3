// Command mutants shows that each rule of docs/safety.md is needed, and that something would notice
// if it were gone: it breaks the code, a rule at a time, and runs what should catch it.
//
//	go run ./verify/mutants                 all patches: 25 minutes or so on two cores
//	go run ./verify/mutants -run hand-off   those whose names match
//	go run ./verify/mutants -quick          with what make test runs, which is to catch nine of ten
//	go run ./verify/mutants -write          writes the table of docs/safety.md; with -run only those rows
//	go run ./verify/mutants -list           the patches, and what they break
//	go run ./verify/mutants -overlay DIR -run '^majority-half$'
//	                               writes to DIR what go build -overlay needs for this patch, and says where
//
// A patch, patches/*.patch, is a change of a few lines that is laid over the code while it is
// built (go test -overlay): nothing of it is in the product. patch.go says how it reads.
//
// A patch that does not apply or does not compile is an error, and so is a catcher that fails
// without any patch. One that nobody catches is a rule that could be lost without anybody's
// noticing: a test is missing.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"slices"
	"sync"
	"syscall"

	"example.com/redlock/internal/beside"
)

func main() {
	run := flag.String("run", "", "the patches whose names match `regexp`")
	write := flag.Bool("write", false, "write what was seen into the table of "+page)
	list := flag.Bool("list", false, "list the patches, and run nothing")
	quick := flag.Bool("quick", false, "try only what make test runs, and name the patches that it does not catch")
	overlay := flag.String("overlay", "", "`folder` for an overlay of the one patch that -run names: run nothing")
	workers := flag.Int("j", 2, "how many patches at a time")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := breakRules(ctx, *run, *overlay, *quick, *write, *list, *workers); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

func breakRules(ctx context.Context, run, overlay string, quick, write, list bool, workers int) error {
	wanted, err := regexp.Compile(run)
	if err != nil {
		return err
	}
	patches, err := readPatches(".", wanted)
	if err != nil {
		return err
	}
	if len(patches) == 0 {
		return fmt.Errorf("no patch has a name like %q", run)
	}
	if quick && write {
		return errors.New("-write is for what all catchers saw, and -quick leaves some out")
	}
	if list {
		for _, p := range patches {
			fmt.Printf("%-44s %s\n", p.name, p.breaks)
		}
		return nil
	}
	lab, err := newLab(".")
	if err != nil {
		return err
	}
	defer lab.close()
	if overlay != "" {
		if len(patches) > 1 {
			return fmt.Errorf("%d patches have a name like %q, and an overlay is of one", len(patches), run)
		}
		file, err := lab.overlay(overlay, patches[0])
		if err == nil {
			fmt.Println(file)
		}
		return err
	}
	if quick {
		for _, p := range patches {
			p.hurry()
		}
	}
	if err := lab.control(ctx, patches, workers); err != nil {
		return err
	}
	seen := make(map[string][]result)
	lost, failed := 0, 0
	var mu sync.Mutex
	beside.Each(patches, workers, func(p *patch) {
		results, err := lab.try(ctx, p)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case ctx.Err() != nil: // interrupted
		case err != nil:
			failed++
			fmt.Printf("ERROR     %s: %v\n", p.name, err)
		case !caught(results):
			lost++
			fmt.Printf("SURVIVES  %s (%s: %s) %v", p.name, p.rule, p.breaks, results)
			if p.beyond != nil {
				fmt.Printf("; make verify also has %v", p.beyond)
			}
			fmt.Println()
		default:
			seen[p.name] = results
			for i, r := range results {
				word, name := "caught", p.name
				if i > 0 {
					word, name = "", ""
				}
				fmt.Printf("%-9s %-40s %s\n", word, name, r)
			}
		}
	})
	if write {
		if err := writeTable(".", seen); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %d patches could not be tried", failed, len(patches))
	}
	if quick && lost > 0 && 10*lost <= len(patches) {
		fmt.Printf("%d of %d patches are caught by what make test runs\n", len(patches)-lost, len(patches))
		return nil
	}
	if lost > 0 {
		return fmt.Errorf("%d of %d patches are not caught", lost, len(patches))
	}
	fmt.Printf("%d patches, all are caught\n", len(patches))
	return nil
}

func caught(results []result) bool {
	return slices.ContainsFunc(results, func(r result) bool { return r.who != "" })
}
