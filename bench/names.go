package main

import (
	"fmt"
	"strconv"
)

// maxCallers is the largest number of callers in a trial.
const maxCallers = 1024

// names returns lock names, made in advance so that making them is not measured. There are so many
// that a name is as good as fresh when its turn comes again.
func names() []string { return numbered("bench:", 64*maxCallers) }

// counted returns n and the noun, in the plural unless n is 1.
func counted(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// numbered returns n names that begin with prefix.
func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = prefix + strconv.Itoa(i)
	}
	return names
}
