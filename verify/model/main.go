package main

import (
	"flag"
	"fmt"
	"os"
	"regexp"
)

func main() {
	run := flag.String("run", "", "search the cases whose names match `regexp`")
	nightly := flag.Bool("nightly", false, "search the large cases as well: minutes each, and some GiB")
	teeth := flag.Bool("teeth", false, "search the few small cases that find a broken rule, up to the first that does")
	traces := flag.Bool("v", false, "tell the way to what is found")
	flag.Parse()
	wanted, err := regexp.Compile(*run)
	if err != nil {
		fmt.Fprintln(os.Stderr, "model:", err)
		os.Exit(2)
	}
	var chosen []*Case
	for _, k := range allCases() {
		if wanted.MatchString(k.Name) && (!k.Nightly || *nightly) && (k.Teeth || !*teeth) {
			chosen = append(chosen, k)
		}
	}
	r := report{to: os.Stdout, traces: *traces, first: *teeth}
	switch {
	case len(chosen) == 0:
		fmt.Fprintln(os.Stderr, "model: no case has such a name")
		os.Exit(2)
	case !r.all(chosen):
		os.Exit(1)
	}
}
