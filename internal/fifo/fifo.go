// Package fifo has lists that are filled at one end and emptied at the other, without allocating once they are as long as
// they get.
//
// # Concurrency
//
// A Queue is used by one goroutine at a time.
package fifo

import "slices"

// Queue holds what waits, in the order in which it came. The zero Queue is empty.
type Queue[T any] struct {
	list []T
	head int // list[:head] were popped
}

// Of makes a queue of list, which is its own from now on.
func Of[T any](list []T) Queue[T] { return Queue[T]{list: list} }

func (q *Queue[T]) Len() int { return len(q.list) - q.head }

// All returns what is in q, the first one first. It is q's own memory.
func (q *Queue[T]) All() []T { return q.list[q.head:] }

func (q *Queue[T]) Push(one T) {
	if q.head > 32 && q.head > len(q.list)/2 {
		n := copy(q.list, q.list[q.head:])
		clear(q.list[n:])
		q.list, q.head = q.list[:n], 0
	}
	q.list = append(q.list, one)
}

// Pop takes out the first one. The queue must not be empty.
func (q *Queue[T]) Pop() T {
	one := q.list[q.head]
	clear(q.list[q.head : q.head+1]) // so that it keeps nothing alive
	q.head++
	if q.head == len(q.list) {
		q.list, q.head = q.list[:0], 0
	}
	return one
}

// DeleteFunc takes out all that del says.
func (q *Queue[T]) DeleteFunc(del func(T) bool) { q.list, q.head = slices.DeleteFunc(q.All(), del), 0 }

// Drain empties q and returns what was in it.
func (q *Queue[T]) Drain() []T {
	list := q.All()
	*q = Queue[T]{}
	return list
}
