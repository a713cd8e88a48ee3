package workload

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"example.com/redlock/internal/history"
)

const (
	// pulse is how often a process looks whether it runs.
	pulse = 10 * time.Millisecond
	// stall is how long it must not have run for that to be recorded. It is so little more than a pulse that what is
	// not recorded makes nobody late.
	stall = 15 * time.Millisecond
)

// beat records when the process did not run, or one of its threads could not although it wanted to, until
// ending is closed. A thread that the kernel keeps waiting holds up what it carries, while others of the
// process go on. delays returns for how long each thread has waited for a processor so far.
func beat(rec *history.Recorder, delays func() map[string]time.Duration, ending <-chan struct{}) {
	ticker := time.NewTicker(pulse)
	defer ticker.Stop()
	last, kept := rec.Now(), delays()
	for {
		select {
		case <-ticker.C:
		case <-ending:
			return
		}
		now := rec.Now()
		away := now - last
		waited := delays()
		for thread, all := range waited {
			away = max(away, all-kept[thread]) // one that is new has waited since the last pulse
		}
		kept = waited
		if away > stall {
			rec.Add(history.Event{What: history.Stall, At: now, From: max(0, now-away)})
		}
		last = now
	}
}

// runDelays returns for how long each thread of this process has waited for a processor so far. It is empty
// where the system does not tell.
func runDelays() map[string]time.Duration {
	delays := map[string]time.Duration{}
	files, _ := filepath.Glob("/proc/self/task/*/schedstat")
	for _, file := range files {
		text, err := os.ReadFile(file) // time on a processor, time of waiting for one, both in ns, and turns
		if err != nil {
			continue // the thread has ended
		}
		if fields := bytes.Fields(text); len(fields) > 1 {
			if ns, err := strconv.ParseInt(string(fields[1]), 10, 64); err == nil {
				delays[file] = time.Duration(ns)
			}
		}
	}
	return delays
}
