package main

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"sync"
)

// object is what is stored under a name.
type object struct {
	data       []byte
	generation int64 // grows with each write of any object; it is the ETag
	metadata   map[string]string
}

// etag is the generation. A hash of the data would not do: see [BucketClient].
func (o object) etag() string { return strconv.Quote(strconv.FormatInt(o.generation, 10)) }

// objects is a store in memory. Both services use it; they differ in what they check.
type objects struct {
	mu         sync.Mutex
	byName     map[string]object
	generation int64
}

// get returns the object, whose data must not be changed, and whether there is one.
func (s *objects) get(name string) (o object, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok = s.byName[name]
	return o, ok
}

// put stores an object if check agrees to replace the old one. Check and write are one step: with a
// gap between them, the check would be worthless.
//
// check returns 0 to go ahead, or the HTTP status of the refusal.
func (s *objects) put(name string, data []byte, metadata map[string]string, check func(old object, ok bool) (status int)) (o object, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, ok := s.byName[name]
	if status := check(old, ok); status != 0 {
		return old, status
	}
	s.generation++
	o = object{data: data, generation: s.generation, metadata: maps.Clone(metadata)}
	if s.byName == nil {
		s.byName = make(map[string]object)
	}
	s.byName[name] = o
	if ok {
		return o, http.StatusOK
	}
	return o, http.StatusCreated
}

// precondition checks If-Match and If-None-Match as far as object stores support them: one ETag, or
// "*".
func precondition(h http.Header, old object, ok bool) (status int) {
	if match := h.Get("If-Match"); match != "" && (!ok || match != "*" && match != old.etag()) {
		return http.StatusPreconditionFailed
	}
	if none := h.Get("If-None-Match"); none != "" && ok && (none == "*" || none == old.etag()) {
		return http.StatusPreconditionFailed
	}
	return 0
}

// maxObject limits the size of an object, in bytes.
const maxObject = 1 << 20

// body reads the data of a request. If it cannot, it answers the request with the reason.
func body(w http.ResponseWriter, r *http.Request) (data []byte, ok bool) {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxObject))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return nil, false
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return nil, false
	}
	return data, true
}
