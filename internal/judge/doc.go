// Package judge checks a history: it decides, apart from the workload that wrote it, whether what clients
// were told and what masters did keeps the promises of docs/safety.md. It knows nothing of the workload but
// the history.
//
// A check never guesses: where a history does not show for certain that a promise was broken, nothing is
// wrong. What it allows for, such as a process that was stopped, is said at each check.
//
// # Concurrency
//
// Judge changes nothing that it is given. It returns when the goroutines that it started have ended.
//
// # Errors
//
// Judge fails only if the history contradicts itself. What is wrong with the run is in the [Report].
package judge
