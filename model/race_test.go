//go:build race

package main

// wanted are the cases that a test searches under the race detector, which makes them ten
// times as slow: a few, so that it sees how they are searched at once. make model searches
// all.
const wanted = `^exclusion/(nothing|half|two of|no guard|a renewal)|^heal/where|^pass/(nothing|until)|^token/(the largest|a pass)`
