package picture

import (
	"fmt"
	"time"

	"example.com/redlock/internal/history"
)

// nemesis plans faults of masters and clients, one every three seconds or so.
func (w *world) nemesis() {
	kinds := []string{
		"kill-empty", "kill-aof", "stop-restart", "pause", "cut", "cut-there", "cut-back", "slow", "jitter", "lossy", "reset",
		"clock-ahead", "clock-back", "clock-fast", "memory-full", "eviction", "flushall", "client-kill", "script-flush", "demote",
		"replace", "busy", "cut-client", "client-stop", "client-stop-short", "client-kill-9",
	}
	for at := 2 * time.Second; at < w.long-4*time.Second; at += 500*time.Millisecond + w.about(2500*time.Millisecond) {
		kind := kinds[w.rand.IntN(len(kinds))]
		w.after(at-w.now, func() { w.harm(kind) })
	}
}

func (w *world) harm(kind string) {
	w.faults++
	e := history.Event{At: w.now, What: history.Fault, ID: w.faults, Fault: kind, Who: "nemesis"}
	lasts := 300*time.Millisecond + w.about(1500*time.Millisecond)
	client := w.clients[w.rand.IntN(len(w.clients))]
	switch kind {
	case "client-stop", "client-stop-short", "client-kill-9":
		if client.dead || client.awake > w.now {
			return
		}
		e.On = []string{client.who}
		switch kind {
		case "client-kill-9":
			client.dead, lasts = true, 0
			w.add(history.Event{At: w.now, What: history.Killed, Who: client.who})
			w.after(250*time.Millisecond, func() { w.start(successor(client.who)) })
		default:
			if kind == "client-stop" {
				lasts = 2500 * time.Millisecond
			}
			client.awake = w.now + lasts
			w.add(history.Event{At: w.now, What: history.Stopped, Who: client.who})
			w.after(lasts, func() {
				if !client.dead {
					w.add(history.Event{At: w.now, What: history.Continued, Who: client.who})
					w.add(history.Event{At: w.now, What: history.Stall, Who: client.who, From: w.now - lasts})
				}
			})
		}
	default:
		first := w.rand.IntN(5)
		for i := range []int{1, 1, 2, 3, 5}[w.rand.IntN(5)] {
			e.On = append(e.On, fmt.Sprintf("m%d", (first+i)%5+1))
		}
		switch kind {
		case "cut-client":
			e.On = append(e.On, client.who)
		case "flushall", "eviction", "clock-ahead", "clock-fast":
			e.Forgets = true
		case "slow":
			e.Text = "120 ms ± 40 ms"
		}
		if kind == "flushall" || kind == "client-kill" || kind == "script-flush" {
			lasts = 0
		}
	}
	id := w.faults
	w.add(e)
	w.after(lasts, func() { w.add(history.Event{At: w.now, What: history.Mended, ID: id, Who: "nemesis"}) })
}

// successor is who starts when who was killed.
func successor(who string) string {
	number := 1
	base := laneOf(who)
	if base != who {
		fmt.Sscanf(who[len(base):], ".%d", &number)
	}
	return fmt.Sprintf("%s.%d", base, number+1)
}
