// Package beside does pieces of work at the same time: all of them, or a few at a time.
package beside

import "sync"

// All calls do for all of list at the same time, and returns what it returned, in the order of the list.
//
// Goroutines: one for each; All waits for them.
func All[T any](list []T, do func(T) error) []error {
	errs := make([]error, len(list))
	var wg sync.WaitGroup
	for i, one := range list {
		wg.Go(func() { errs[i] = do(one) })
	}
	wg.Wait()
	return errs
}

// Each calls do for each of list, workers at a time, in the order of the list.
//
// Goroutines: one for each worker; Each waits for them.
func Each[T any](list []T, workers int, do func(T)) {
	queue := make(chan T)
	var busy sync.WaitGroup
	for range workers {
		busy.Go(func() {
			for one := range queue {
				do(one)
			}
		})
	}
	for _, one := range list {
		queue <- one
	}
	close(queue)
	busy.Wait()
}
