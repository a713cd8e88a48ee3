// Package beside does work a few pieces at a time.
package beside

import "sync"

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
