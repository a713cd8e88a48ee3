package otelredlock

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// pair is an attribute of a metric. Without a value there is none.
type pair struct {
	key   attribute.Key
	value string
}

// options are attributes as the SDK takes them.
type options struct {
	add    []metric.AddOption
	record []metric.RecordOption
}

// sets keeps the options for attributes: there are few different ones, and to make one costs more than to record a value.
type sets struct {
	always []attribute.KeyValue

	mu   sync.RWMutex
	made map[[4]pair]options
}

// most bounds how many are kept. Only a Config.Label without a bound makes more.
const most = 4096

func newSets(always []attribute.KeyValue) *sets {
	return &sets{always: always, made: map[[4]pair]options{}}
}

// of returns the options for up to four attributes.
func (s *sets) of(pairs ...pair) options {
	var key [4]pair
	copy(key[:], pairs)
	s.mu.RLock()
	o, ok := s.made[key]
	s.mu.RUnlock()
	if ok {
		return o
	}
	set := metric.WithAttributeSet(s.set(key[:]...))
	o = options{add: []metric.AddOption{set}, record: []metric.RecordOption{set}}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.made) < most {
		s.made[key] = o
	}
	return o
}

// set makes a set of attributes.
func (s *sets) set(pairs ...pair) attribute.Set {
	all := append([]attribute.KeyValue(nil), s.always...)
	for _, p := range pairs {
		if p.value != "" {
			all = append(all, p.key.String(p.value))
		}
	}
	return attribute.NewSet(all...)
}
