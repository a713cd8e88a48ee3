package main

// step is one step of a system: an action, and whom it concerns. Not every action
// concerns an owner, a master and another owner.
type step struct {
	action               action
	owner, master, other int
}

// system is a protocol as a graph: states, and steps between them.
type system[S any] interface {
	// first is the state in which all begins.
	first() S
	// each calls do with every step that can follow s, and the state it leads to. do
	// must copy that state if it wants to keep it.
	each(s *S, do func(step, *S))
	// wrong names what is violated in s, "" if nothing is.
	wrong(s *S) string
	// pack and unpack turn a state into a key and back. States that only differ in the
	// names of owners and masters may have the same key.
	pack(s *S) key
	unpack(k key) S
	// tell describes a step, and the state it led to, for a reader.
	tell(do step, after *S) string
}

// found is what a search came to.
type found struct {
	wrong  string   // the violation, "" if there is none
	trace  []string // the shortest way to it
	states int
	done   bool // all states that can be reached were looked at, or a violation was found
	fired  [actions]int
}

// search looks at all states that can be reached, nearest first, until one violates
// something or there are more than limit. So a trace is as short as can be.
func search[S any](sys system[S], limit int) found {
	var f found
	seen := newSet()
	begin := sys.first()
	seen.add(sys.pack(&begin), 0)
	for at := 0; at < len(seen.keys) && f.wrong == ""; at++ {
		if len(seen.keys) > limit {
			f.states = len(seen.keys)
			return f
		}
		s := sys.unpack(seen.keys[at])
		sys.each(&s, func(do step, next *S) {
			if f.wrong != "" {
				return
			}
			f.fired[do.action]++
			if seen.add(sys.pack(next), at) {
				f.wrong = sys.wrong(next)
			}
		})
	}
	f.states, f.done = len(seen.keys), true
	if f.wrong != "" {
		f.trace = retrace(sys, seen.path(len(seen.keys)-1))
	}
	return f
}

// retrace walks a path again from the first state, to tell it with names that stay the
// same: a key may stand for states with other names.
func retrace[S any](sys system[S], path []key) []string {
	var trace []string
	s := sys.first()
	for _, k := range path {
		var line string
		var after S
		sys.each(&s, func(do step, next *S) {
			if line == "" && sys.pack(next) == k {
				line, after = sys.tell(do, next), *next
			}
		})
		trace, s = append(trace, line), after
	}
	return trace
}
