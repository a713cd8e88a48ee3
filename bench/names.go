package main

import "strconv"

// maxCallers is the largest number of goroutines that a trial starts.
const maxCallers = 1024

// names returns lock names, made beforehand so that making them is not measured. A name
// comes again after enough others that it is as good as fresh.
func names() []string { return numbered("bench:", 64*maxCallers) }

// numbered returns n names.
func numbered(prefix string, n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = prefix + strconv.Itoa(i)
	}
	return names
}
