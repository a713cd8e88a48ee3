// Package trial runs client processes against masters, does all kinds of harm to both by a plan that a
// seed determines, and collects the history.
//
// [NewPlan] draws a plan. [Run] starts masters, wires and clients, carries the plan out, mends
// everything, ends the clients, looks at what is left on the masters, merges what all of them recorded, and has
// the history judged and drawn.
package trial
