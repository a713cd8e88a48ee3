package main

import "os"

// size says that nothing is a terminal: not every console of Windows understands the sequences that
// draw in place.
func size(*os.File) (rows, width int, terminal bool) { return 0, 0, false }
