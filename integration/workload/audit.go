package workload

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"

	"example.com/redlock/internal/history"
)

// settle is how long what a client left behind may take to go away: goroutines end after the call that
// ends them.
const settle = 5 * time.Second

// stock is what a process has of what may leak.
type stock struct{ goroutines, sockets int }

func takeStock() stock { return stock{runtime.NumGoroutine(), sockets()} }

// sockets counts the open sockets. Where there is no /proc, it finds none.
func sockets() int {
	n := 0
	files, _ := filepath.Glob("/proc/self/fd/*")
	for _, file := range files {
		if to, err := os.Readlink(file); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}

// audit records what is left that was not there before the client was opened.
func (p *process) audit(before stock) {
	now := takeStock()
	for range int(settle / pulse) {
		if now.goroutines <= before.goroutines && now.sockets <= before.sockets {
			break
		}
		time.Sleep(pulse)
		now = takeStock()
	}
	e := history.Event{
		What:       history.Audited,
		Goroutines: max(0, now.goroutines-before.goroutines),
		Sockets:    max(0, now.sockets-before.sockets),
	}
	if e.Goroutines > 0 {
		e.Text = stacks()
	}
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	e.Heap = int64(memory.HeapAlloc)
	p.rec.Add(e)
}

// stacks says what all goroutines are doing.
func stacks() string {
	var text strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&text, 1); err != nil {
		return fmt.Sprint("no stacks: ", err)
	}
	return text.String()
}
