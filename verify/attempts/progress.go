package main

import "fmt"

// That everybody can be served does not say when. Who gets in each other's way, and gives way at random, may
// do so for long. So the search also tells how many ticks it takes on the average from the worst state until
// all are served and all masters are free, if whatever may follow a state is equally likely: callers begin no
// more, nothing goes wrong any more, and each tick those who have the lock may give it back or not.

// within are the most ticks that may be, for cases about splits: what was found, rounded up. Who
// makes it less lowers the bound, and who makes it more needs a reason.
var within = map[string]float64{
	"far/two/1":                   10,
	"far/two/2":                   16,
	"far/two/3":                   23,
	"far/two, a master is dead/1": 12,
	"far/two, a master is dead/2": 19,
	"far/two, a master is dead/3": 27,
	"far/three/1":                 16,
	"far/three/2":                 27,
	"far/three/3":                 40,
	"far/one waits, two try/1":    9,
	"far/one waits, two try/2":    16,
	"far/one waits, two try/3":    21,
	"order/WWWW":                  16,
	"shared/RWR":                  13,
}

// progress tells how long a case without violations takes, and what is wrong with that.
func (f *found) progress(k *Case) (verdict string) {
	most, bound := within[k.Name]
	if f.wrong != "" || !bound {
		return "ok"
	}
	ticks, worst := f.graph.expect()
	if ticks > most {
		f.wrong, f.trace = fmt.Sprintf("%s, %.1f instead of %.1f", tooSlow, ticks, most), f.store.path(worst)
	}
	return fmt.Sprintf("ok, served in %.1f ticks", ticks)
}
