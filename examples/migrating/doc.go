// Package migrating has what docs/migrating.md shows: a program that takes its old lock and the new one
// together, for the time of a rollout.
package migrating
