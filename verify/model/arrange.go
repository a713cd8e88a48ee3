package main

import "example.com/redlock/multilock/attempt"

// arrange puts masters that are alike into another order: order has, for each place, who comes there.
func (w *World) arrange(k *Case, order []int) {
	from := *w
	w.Messages = messages{}
	for to, m := range order {
		w.Masters[to], w.Links[to] = from.Masters[m], from.Links[m]
		for i := range from.Messages.len() {
			if x := from.Messages.list[i]; int(x.Master) == m {
				x.Master = uint8(to)
				w.Messages.insert(w.Messages.len(), x)
			}
		}
	}
	for c := range k.Callers {
		p, was := &w.Callers[c], &from.Callers[c]
		for to, m := range order {
			if k.has(c, m) {
				p.masters[k.place(c, to)] = was.masters[k.place(c, m)]
				p.Lag.More[k.place(c, to)] = was.Lag.More[k.place(c, m)]
				p.Gained[to], p.Steady[to] = was.Gained[m], was.Steady[m]
			}
		}
		sets := []*attempt.Set{&p.Raised, &p.Unraised}
		for i := range p.rounds {
			r := &p.rounds[i]
			sets = append(sets, &r.Yes, &r.No, &r.Silent, &p.Marks[i].Denied)
		}
		for _, s := range sets {
			was := *s
			*s = 0
			for to, m := range order {
				if k.has(c, m) && was.Has(k.place(c, m)) {
					*s |= 1 << k.place(c, to)
				}
			}
		}
	}
}
