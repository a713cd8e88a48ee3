package workload

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"time"

	"example.com/redlock/internal/boottime"
	"example.com/redlock/internal/history"
)

// What a trial tells a process on its input: from now on nothing is done to anybody, or anything may be. In
// calm, callers mostly stand in line: where queues are long and nothing is in their way, a judge can tell who
// stood before whom.
const (
	Calm = "calm\n"
	Harm = "harm\n"
)

const (
	// lastWaits is how long calls that wait may go on once no more are to begin.
	lastWaits = 2 * time.Second
	// lastCalls is how long the end of the process then waits for callers, all of which have enough time
	// by far.
	lastCalls = 15 * time.Second
)

// Run is the life of a client process: it takes locks until input ends, and then closes the library's
// client and looks what is left of it. The error is that of the start, or of the history.
//
// Goroutines: those of [Process.Serve], and one that notices stalls. Run waits for all of them. A caller that hangs in the
// library is left behind: the history then shows its call.
func Run(cfg Config, open func(Config) (Locker, error), rec *history.Recorder, input io.Reader) error {
	before := takeStock()
	cfg.Tell = rec.Add
	locker, err := open(cfg)
	if err != nil {
		return err
	}
	p := New(cfg, locker, rec)
	ending, beating, served := make(chan struct{}), make(chan struct{}), make(chan struct{})
	var heart sync.WaitGroup
	heart.Go(func() { beat(rec, runDelays, beating) })

	waits, giveUp := context.WithCancel(context.Background())
	defer giveUp()
	go func() { // ends with the callers
		p.Serve(waits, ending)
		close(served)
	}()
	for lines := bufio.NewReader(input); ; {
		line, err := lines.ReadString('\n')
		if err != nil {
			break
		}
		p.calm.Store(line == Calm)
	}
	close(ending)
	all := finish(served, giveUp)
	var left []*held // that Close is to give back
	for _, c := range p.callers {
		if all && c.chance(30) {
			do := []history.Do{history.TryLock, history.TryRLock, history.TryAcquire}[c.IntN(3)]
			holds, _, _ := c.take(context.Background(), do)
			left = append(left, holds...)
		}
	}
	_ = p.Close()
	for _, hd := range left { // which must fail
		_ = hd.giveBack(context.Background(), 0, Hold.Unlock)
	}
	if all {
		p.watchers.Wait()
	}
	close(beating)
	heart.Wait()
	p.audit(before)
	return rec.Err()
}

// finish waits for callers, and ends the calls that wait meanwhile. It reports whether all callers came
// back.
func finish(served <-chan struct{}, giveUp func()) bool {
	for _, patience := range []time.Duration{lastWaits, lastCalls} {
		select {
		case <-served:
			return true
		case <-time.After(patience):
			giveUp()
		}
	}
	return false
}

// Main is the main function of a client process: it does what its Config says until its standard input
// ends. open makes the library's client.
//
// It exits with 1 if the history could not be written in full; anything else that goes wrong is in the
// history.
func Main(open func(Config) (Locker, error)) {
	if err := serve(open); err != nil {
		fmt.Fprintln(os.Stderr, "client:", err)
		os.Exit(1)
	}
}

func serve(open func(Config) (Locker, error)) error {
	if len(os.Args) != 2 {
		return errors.New("it is started by a trial, with a Config")
	}
	var cfg Config
	if err := json.Unmarshal([]byte(os.Args[1]), &cfg); err != nil {
		return err
	}
	out, err := os.OpenFile(cfg.Out, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer out.Close()
	rec := history.NewRecorder(out, cfg.Who, func() time.Duration { return boottime.Now() - cfg.Began })
	return Run(cfg, open, rec, os.Stdin)
}

// Config says what a client process does. A process gets it as its only argument: see [Config.Arg].
type Config struct {
	Who      string   // the process, "c1"
	Masters  []string // host:port of its way to each master
	Seed     uint64
	Began    time.Duration // when the run began, by boottime.Now
	Lease    time.Duration
	MaxLease time.Duration // the longest lease of LockFor
	Keep     time.Duration // for how long locks stay with the client
	Guard    time.Duration // of masters that restarted; negative: none

	// NodeTimeout is how long a master may take to answer. 0: the library's default.
	NodeTimeout time.Duration

	Callers int           // how many goroutines take locks
	Think   time.Duration // how long a caller thinks between two visits, on average
	Waits   time.Duration // how long a call takes at most that does not take as long as it needs
	Names   []string      // of the locks. The first has readers, too
	Stays   int           // percent of visits that last for longer than a moment, up to two leases
	Permits int           // of the semaphore
	Only    []history.Do  // what callers ask for; nil: all there is
	Out     string        // the file to which the process appends its events

	// Tell records what a library says of itself while calls are under way. Run sets it.
	Tell func(history.Event) `json:"-"`
}

// Usual is what the clients of a trial do, with that lease and few names, so that their callers meet.
func Usual(lease time.Duration) Config {
	return Config{
		Lease: lease, MaxLease: lease, Callers: 4, Think: 500 * time.Millisecond,
		Waits: 5 * time.Second, Names: []string{"rw", "a", "b", "c"}, Stays: 8, Permits: 2,
	}
}

// Arg returns the argument with which a client process is started to have this Config.
func (cfg Config) Arg() string {
	text, err := json.Marshal(cfg)
	if err != nil {
		panic(err) // it has no field that JSON has not
	}
	return string(text)
}

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
func (p *Process) audit(before stock) {
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
