package main

import "strconv"

// maxCallers is the largest number of goroutines that a trial starts.
const maxCallers = 1024

// names returns lock names, made beforehand so that making them is not measured. A name
// comes again after enough others that it is as good as fresh.
func names() []string {
	names := make([]string, 64*maxCallers)
	for i := range names {
		names[i] = "bench:" + strconv.Itoa(i)
	}
	return names
}
