//go:build !race

package main

// wanted are the cases that a test searches: all but those for the night.
const wanted = ""
