package main

import (
	"bytes"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/redlock/clock"
	"example.com/redlock/internal/beside"
	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script/twin"
)

// report searches cases, and prints a line for each that is done.
type report struct {
	to     io.Writer
	traces bool
	first  bool // stop at the first that fails

	mu     sync.Mutex // of what follows, and of what is told
	failed int
	states int
	memory uint64 // most that was in use, in bytes
}

// limit is how many states a case may have: more would not fit into 6 GiB. The cases that find broken rules are small,
// and a broken rule may make infinitely many states.
const (
	limit      = 16_000_000
	teethLimit = 1_000_000
)

// all searches cases, the large ones last, and reports whether none fails.
func (r *report) all(cases []*Case) (ok bool) {
	start := time.Now()
	var small, large []*Case
	for _, k := range cases {
		if k.Nightly {
			large = append(large, k)
		} else {
			small = append(small, k)
		}
	}
	r.each(small, runtime.GOMAXPROCS(0))
	r.each(large, 1) // one of which fills the memory
	fmt.Fprintf(r.to, "%d cases, %d states, %.0f s, %.1f GiB; %d failed\n",
		len(cases), r.states, time.Since(start).Seconds(), float64(r.memory)/(1<<30), r.failed)
	return r.failed == 0
}

// each searches so many cases at a time, each on its share of the processors.
func (r *report) each(cases []*Case, atATime int) {
	beside.Each(cases, atATime, func(k *Case) {
		r.mu.Lock()
		enough := r.first && r.failed > 0
		r.mu.Unlock()
		if enough {
			return
		}
		var text bytes.Buffer
		ok := r.one(&text, k, runtime.GOMAXPROCS(0)/atATime)
		r.mu.Lock()
		defer r.mu.Unlock()
		_, _ = text.WriteTo(r.to)
		r.failed += int(1 - b2(ok))
	})
}

// one searches a case on so many processors.
func (r *report) one(to io.Writer, k *Case, processors int) (ok bool) {
	start := time.Now()
	var systems []system
	for range processors {
		systems = append(systems, newWorker(k))
	}
	most := limit
	if r.first {
		most = teethLimit
	}
	f := search(systems, most)
	r.note(k, &f)
	verdict := f.progress(k)
	if f.wrong != "" {
		verdict = "FAIL " + f.wrong
	}
	switch {
	case f.traps > 0:
		verdict += fmt.Sprintf(": from %d states, first in step %d", f.traps, len(f.trace)-1)
	case f.cut > 0:
		verdict += fmt.Sprintf(": %d states left", f.cut)
	case f.wrong != "":
		verdict += fmt.Sprintf(", in step %d", len(f.trace)-1)
	}
	ok = f.wrong == ""
	if k.Unsafe {
		if ok = f.wrong == twoHolders; ok {
			verdict = fmt.Sprintf("ok: unsafe, as it must be, in step %d", len(f.trace)-1)
		} else {
			verdict = "FAIL to find what is unsafe: " + verdict
		}
	}
	fmt.Fprintf(to, "%-52s %9d states %3d deep %6.1f s  %s\n", k.Name, f.states, f.depth, time.Since(start).Seconds(), verdict)
	if f.trace != nil && r.traces {
		var keys [][]byte
		for _, id := range f.trace {
			keys = append(keys, f.store.key(id))
		}
		newWorker(k).retrace(keys, func(step int, happened []string) {
			fmt.Fprintf(to, "  %d\n", step)
			for _, line := range happened {
				fmt.Fprintf(to, "    %s\n", line)
			}
		})
	}
	return ok
}

// note counts the states of a case. After a large case it gives memory back to the system.
func (r *report) note(k *Case, f *found) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.states += f.states
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	r.memory = max(r.memory, m.Sys-m.HeapReleased)
	if k.Nightly {
		debug.FreeOSMemory()
	}
}

// noteText notes what happens, if a trace is wanted. Clip keeps forks from overwriting each other's notes.
func (w *World) noteText(format string, args ...any) {
	if w.log != nil {
		w.log = append(slices.Clip(w.log), fmt.Sprintf(format, args...))
	}
}

var commands = [...]string{ask: "ask", release: "release", raise: "raise", renew: "renew", count: "count"}

var outcomes = [...]string{"unsent", "unknown", "error", "no", "yes"}

func (ch channel) String() string {
	return [...]string{"commands", "answers", "hand-offs", "ghosts"}[ch]
}

func name(o twin.Owner) string {
	switch o {
	case 0:
		return "nobody"
	case twin.Readers:
		return "readers"
	}
	return fmt.Sprintf("C%d.%d", callerOf(o), numberOf(o))
}

// String tells of a command.
func (x *Message) String() string {
	s := fmt.Sprintf("%s %s", commands[x.Kind], name(x.Owner))
	switch x.Kind {
	case ask:
		s += fmt.Sprintf(" #%d %v", x.Round, x.Command)
	case release:
		if x.Yield {
			s += " yield"
		}
		if x.Next != 0 {
			s += fmt.Sprintf(" and enter %s #%d", name(x.Next), x.Round)
		}
	case raise, renew, count:
		s += fmt.Sprintf(" (%d)", x.Round)
	}
	if x.Shared {
		s += " shared"
	}
	if x.Token > 1 {
		s += fmt.Sprintf(" token %d", x.Token)
	}
	return s
}

var events = [...]string{
	attempt.Start: "starts", attempt.Answer: "gets answer", attempt.Followed: "gets followed", attempt.HandedOff: "gets hand-off", attempt.Hint: "gets hint",
	attempt.Due: "looks", attempt.Doubt: "doubts a vote", attempt.Wanted: "hears that it is wanted", attempt.Enter: "ENTERS",
	attempt.Leave: "LEAVES", attempt.Rewish: "WISHES ANEW", attempt.Renew: "renews", attempt.Downgrade: "DOWNGRADES",
	attempt.Agree: "takes over a token", attempt.Lose: "loses",
}

func (w *World) noteStep(k *Case, c int, ev attempt.Event) {
	if w.log == nil {
		return
	}
	s, master := fmt.Sprintf("C%d %s", c, events[ev.Kind]), w.Masters[k.masters(c)[ev.Master]].Name
	switch ev.Kind {
	case attempt.Answer:
		s += fmt.Sprintf(" of m%d to #%d: %s", master, ev.Round, outcomes[ev.Outcome])
		if ev.Holder != 0 {
			s += fmt.Sprintf(", %s has it for %d", name(twin.Owner(ev.Holder)), ev.Left/tick)
		}
	case attempt.HandedOff:
		s += fmt.Sprintf(" of m%d for #%d", master, ev.Round)
	}
	if ev.Try != w.Callers[c].Try && ev.Master != 0 {
		s += " (try of before)"
	}
	w.noteText("%s -> %s", s, w.caller(k, c))
}

func (w *World) left(at clock.Instant) string {
	return fmt.Sprintf("%.1f", float64(instant(w.Now).Left(at))/float64(tick))
}

// caller tells how a caller stands.
func (w *World) caller(k *Case, c int) string {
	p := &w.Callers[c]
	s := fmt.Sprintf("%s %v", name(w.current(c)), p.State)
	switch {
	case p.Crashed:
		return s + " crashed"
	case p.over():
		s += fmt.Sprintf(" (%v)", p.Why)
	case p.live() || p.kept():
		s += fmt.Sprintf(" until %s token %d", w.left(p.Until), p.Token)
		if p.Want.Shared {
			s += " shared"
		}
		if p.Due {
			s += " renew in " + w.left(p.RenewAt)
		}
	case p.contends():
		s += fmt.Sprintf(" #%d next in %s", p.Round, w.left(p.AskAt))
		if p.State == attempt.Minority {
			s += " back off in " + w.left(p.GiveBackAt)
		}
		for i, m := range k.masters(c) {
			if x := &p.Attempt.Masters[i]; x.Voted {
				s += fmt.Sprintf(" m%d:%s", w.Masters[m].Name, w.left(x.Until))
			}
		}
	}
	if p.Asleep {
		s += " asleep"
	}
	if p.Behind != 0 {
		s += fmt.Sprintf(" %d behind", p.Behind)
	}
	return s
}

// master tells what a master has.
func (w *World) master(m int) string {
	p := &w.Masters[m]
	var s strings.Builder
	for o, until := range p.leases() {
		fmt.Fprintf(&s, "%s for %d, ", name(o), *until/millis(1)-w.Now)
	}
	if p.Lock.Counter > 1 {
		fmt.Fprintf(&s, "counter %d, ", p.Lock.Counter)
	}
	for _, e := range filled(p.Lock.Queue[:]) {
		fmt.Fprintf(&s, "queue %s #%d (stale in %d), ", name(e.Owner), e.Round, e.Stale/millis(1)-w.Now)
	}
	if p.Guard > w.Now {
		fmt.Fprintf(&s, "guarded for %d, ", p.Guard-w.Now)
	}
	return strings.TrimSuffix(s.String(), ", ")
}
