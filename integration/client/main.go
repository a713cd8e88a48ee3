// Command client is a client process of a trial. It takes locks with package redlock: see package
// workload.
package main

import (
	"example.com/redlock/integration/workload"
	"example.com/redlock/internal/failure"
)

func main() { workload.Main(open, failure.Of) }
