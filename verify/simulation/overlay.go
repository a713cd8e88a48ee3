package main

import (
	"context"
	"path/filepath"
	"strings"

	"example.com/redlock/internal/overlay"
)

// An edit replaces a text that a file of the Go distribution, or of the module, has exactly once.
type edit struct{ file, old, new string }

// module is where files of the module are found in edits.
const module = "redlock:"

// edits make the runtime repeatable, as long as GOMAXPROCS is 1 and no garbage is collected meanwhile.
var edits = []edit{
	// What a goroutine of a bubble draws: math/rand, the order of select and of timers; and that of maps.
	{"math/rand/v2/rand.go", "//go:linkname runtime_rand runtime.rand\n", "//go:linkname runtime_rand runtime.seededRand\n"},
	{"math/rand/rand.go", "//go:linkname runtime_rand runtime.rand\n", "//go:linkname runtime_rand runtime.seededRand\n"},
	{"runtime/rand.go", "func maps_rand() uint64 {\n", "func maps_rand() uint64 {\n\tif x, ok := seededMap(); ok {\n\t\treturn x\n\t}\n"},
	{"runtime/select.go", "j := cheaprandn(uint32(norder + 1))", "j := seededRandn(uint32(norder + 1))"},
	{"runtime/time.go", "t.rand = cheaprand()", "t.rand = seededRandn(1<<32 - 1)"},
	// The keys of hash functions, which the order of maps follows as well.
	{"runtime/rand.go", "\tglobalRand.state.Init(*seed)\n", "\tfor i := range seed {\n\t\tseed[i] = byte(i + 1)\n\t}\n\tglobalRand.state.Init(*seed)\n"},
	// A goroutine runs until it waits, and loses its turn neither to the clock nor in a system call.
	{"runtime/proc.go", "func retake(now int64) uint32 {\n\tn := 0\n", "func retake(now int64) uint32 {\n\tif simulated {\n\t\treturn 0\n\t}\n\tn := 0\n"},
	{"runtime/proc.go", "if pp.schedtick%61 == 0 && !sched.runq.empty() {", "if !simulated && pp.schedtick%61 == 0 && !sched.runq.empty() {"},
	// A mutex is passed on in order when somebody has waited for a millisecond of the machine's time.
	{"internal/sync/mutex.go", "starvationThresholdNs = 1e6", "starvationThresholdNs = 1e18"},
	// Contexts end in the order in which they were derived, not in that of their addresses.
	{"context/context.go", "children map[canceler]struct{} // set", "children map[canceler]uint64 // set"},
	{"context/context.go", "make(map[canceler]struct{})", "make(map[canceler]uint64)"},
	{"context/context.go", "p.children[child] = struct{}{}", "p.children[child] = number.Add(1)"},
	{"context/context.go", "for child := range c.children {", "for _, child := range inOrder(c.children) {"},
	// Instants count from the start of the process, and some times are rounded to those.
	{module + "clock/clock.go", "var epoch = time.Now()", "var epoch = time.Unix(0, 0)"},
}

// seeded is added to package runtime.
const seeded = `package runtime

import (
	"internal/runtime/math"
	_ "unsafe" // for linkname
)

// simulated turns off what depends on the machine's clock.
const simulated = true

// bubbles is the random state of all bubbles, of which one runs at a time.
var bubbles struct {
	seeded bool
	seed   uint64
	state  uint64
}

// SeedBubbles seeds what goroutines in bubbles draw from now on.
func SeedBubbles(seed uint64) {
	MemProfileRate = 0
	bubbles.seeded, bubbles.seed, bubbles.state = true, seed, seed
}

// seededRand draws the next number, if the caller is in a bubble. It is wyrand.
//
//go:linkname seededRand
func seededRand() uint64 {
	if getg().bubble == nil || !bubbles.seeded {
		return rand()
	}
	bubbles.state += 0xa0761d6478bd642f
	hi, lo := math.Mul64(bubbles.state, bubbles.state^0xe7037ed1a0b428db)
	return hi ^ lo
}

// seededMap returns where loops over maps begin. It draws nothing: whether a cache of the process makes a
// map depends on the seeds before.
func seededMap() (uint64, bool) {
	return bubbles.seed * 0xa0761d6478bd642f, getg().bubble != nil && bubbles.seeded
}

// seededRandn draws a number below n.
func seededRandn(n uint32) uint32 { return uint32((uint64(uint32(seededRand())) * uint64(n)) >> 32) }
`

// inOrder is added to package context.
const inOrder = `package context

import (
	"maps"
	"slices"
	"sync/atomic"
)

// number counts children.
var number atomic.Uint64

// inOrder returns children in the order of their numbers.
func inOrder(children map[canceler]uint64) []canceler {
	return slices.SortedFunc(maps.Keys(children), func(a, b canceler) int { return int(children[a]) - int(children[b]) })
}
`

// seedRuntime replaces the file of the same function in package deterministic.
const seedRuntime = `package deterministic

import "runtime"

func seedRuntime(seed uint64) bool {
	runtime.SeedBubbles(seed)
	return true
}
`

// lay writes to dir what go build lays over the Go distribution and over the module in root, and returns the
// file that lists it.
func lay(ctx context.Context, root, dir string) (string, error) {
	source, err := overlay.Source(ctx)
	if err != nil {
		return "", err
	}
	files := overlay.Files{
		filepath.Join(source, "runtime", "seeded.go"):                  seeded,
		filepath.Join(source, "context", "inorder.go"):                 inOrder,
		filepath.Join(root, "internal", "deterministic", "runtime.go"): seedRuntime,
	}
	for _, e := range edits {
		path := filepath.Join(source, filepath.FromSlash(e.file))
		if ours, ok := strings.CutPrefix(e.file, module); ok {
			path = filepath.Join(root, filepath.FromSlash(ours))
		}
		if err := files.Replace(path, e.old, e.new); err != nil {
			return "", err
		}
	}
	return files.Write(dir)
}
