// Package judge decides from a history whether the promises of docs/safety.md were kept. It knows nothing of the
// workload that wrote the history.
//
// A check never guesses: it reports a violation only if the history shows for certain that a promise was broken. Each
// check says what it allows for, such as a process that was stopped.
//
// # Concurrency
//
// Judge changes nothing that it is given. It returns when the goroutines that it started have ended.
//
// # Errors
//
// Judge fails only if the history contradicts itself. What is wrong with the run is in the [Report].
package judge
