// Command mutants shows that each rule of RULES.md is needed, and that something would notice
// if it were gone: it breaks the code, a rule at a time, and runs what should catch it.
//
//	go run ./verify/mutants                 all patches: a quarter of an hour on two cores
//	go run ./verify/mutants -run hand-off   those whose names match
//	go run ./verify/mutants -overlay DIR -run '^majority-half$'
//	                               writes to DIR what go build -overlay needs for this patch, and says where
//
// A patch, patches/*.patch, is a change of a few lines that is laid over the code while it is
// built (go test -overlay): nothing of it is in the product. patch.go says how it reads.
//
// A patch that does not apply or does not compile is an error, and so is a catcher that fails
// without any patch. A catcher that passes in spite of its patch would let the rule be lost without
// anybody's noticing: a test is missing.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"sync"
	"syscall"
	"time"

	"example.com/redlock/internal/beside"
)

func main() {
	run := flag.String("run", "", "the patches whose names match `regexp`")
	overlay := flag.String("overlay", "", "`folder` for an overlay of the one patch that -run names: run nothing")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := breakRules(ctx, *run, *overlay); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

// workers is how many patches, or catchers, are tried at a time.
const workers = 2

func breakRules(ctx context.Context, run, overlay string) error {
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
	if err := lab.control(ctx, patches); err != nil {
		return err
	}
	bad := 0
	var mu sync.Mutex
	beside.Each(patches, workers, func(p *patch) {
		start := time.Now()
		err := lab.try(ctx, p)
		mu.Lock()
		defer mu.Unlock()
		switch {
		case ctx.Err() != nil: // interrupted
		case err != nil:
			bad++
			fmt.Printf("FAIL    %s (%s: %s): %v\n", p.name, p.rule, p.breaks, err)
		default:
			fmt.Printf("caught  %-40s %v, %.1f s\n", p.name, p.by, time.Since(start).Seconds())
		}
	})
	if err := ctx.Err(); err != nil {
		return err
	}
	if bad > 0 {
		return fmt.Errorf("%d of %d patches are not caught, or could not be tried", bad, len(patches))
	}
	fmt.Printf("%d patches, all are caught\n", len(patches))
	return nil
}
