package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"runtime"
)

func main() {
	run := flag.String("run", "", "search only the cases whose family/name matches this regular expression")
	nightly := flag.Bool("nightly", false, "search the cases as well that take long: minutes, and up to 4 GiB")
	trace := flag.Bool("trace", false, "print the shortest counterexample of each case that has one")
	flag.Parse()
	wanted, err := regexp.Compile(*run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "model: -run:", err)
		os.Exit(2)
	}
	if !report(os.Stdout, choose(allCases(), wanted, *nightly), runtime.GOMAXPROCS(0), *trace, *run == "") {
		os.Exit(1)
	}
}
