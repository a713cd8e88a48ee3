package main

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// tokenHeader carries the fencing token: in a request, the token of the writer's hold; in an
// answer, the largest token that the object was written with.
const tokenHeader = "Fencing-Token"

// NewStore returns a service that compares fencing tokens itself: build this if the service is your own.
// It serves GET and PUT of /objects/{name}.
//
//	409 Conflict               the object was written by a later hold. Final: do not repeat
//	412 Precondition Failed    If-Match or If-None-Match: read again, and try again
//	428 Precondition Required  there is no token: the client has no lock, or forgot to say so
//
// A stale token is 409, not 412, because the two call for opposite reactions.
//
// The token orders writes. A client whose write depends on what it read must send If-Match as
// well: a late write of an older hold may land after that read, and its token is in order. (Or the
// service lets a read raise the token, as ../sqlrow does; but a GET must not change anything.)
//
// There is no DELETE. It would have to leave the token behind: a name without a token accepts any
// write.
func NewStore() http.Handler {
	return newService(tokenHeader, func(request http.Header, old object) (status int) {
		switch token, err := strconv.ParseInt(request.Get(tokenHeader), 10, 64); {
		case request.Get(tokenHeader) == "":
			return http.StatusPreconditionRequired
		case err != nil || token <= 0:
			return http.StatusBadRequest
		case tokenOf(old.header.Get(tokenHeader)) > token:
			// An equal token belongs to the same hold: its next write, or a repeat of this one.
			return http.StatusConflict
		}
		return precondition(request, old)
	})
}

// tokenOf parses a token. It returns zero if there is none: the object was never fenced.
func tokenOf(text string) int64 {
	token, _ := strconv.ParseInt(text, 10, 64)
	return token
}

// object is what is stored under a name, the zero object if there is nothing.
type object struct {
	data   []byte
	etag   string      // of a number that grows with each write of any object: a hash would not do, see [BucketClient]
	header http.Header // what was kept of the request that wrote it
}

// service stores objects in memory. Store and bucket differ in what they keep and check.
type service struct {
	keeps string // how the headers begin that are kept with an object
	// check returns 0 if a request may replace the old object, or the HTTP status of the refusal.
	check func(request http.Header, old object) (status int)

	mu     sync.Mutex
	byName map[string]object
	writes int
}

func newService(keeps string, check func(http.Header, object) int) http.Handler {
	s := &service{keeps: keeps, check: check, byName: map[string]object{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /objects/{name}", s.get) // and HEAD
	mux.HandleFunc("PUT /objects/{name}", s.put)
	return http.MaxBytesHandler(mux, maxObject)
}

// maxObject limits the size of an object, in bytes.
const maxObject = 1 << 20

func (s *service) get(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	o := s.byName[r.PathValue("name")]
	s.mu.Unlock()
	if o.etag == "" {
		http.NotFound(w, r)
		return
	}
	o.describe(w.Header())
	_, _ = w.Write(o.data) // an error means that the client has gone
}

func (s *service) put(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	o, status := s.replace(r.PathValue("name"), r.Header, data)
	o.describe(w.Header())
	w.WriteHeader(status)
}

// replace stores an object unless check refuses, and returns the one that is there now. Check and write are one
// step: with a gap between them, the check would be worthless.
func (s *service) replace(name string, request http.Header, data []byte) (o object, status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.byName[name]
	if status := s.check(request, old); status != 0 {
		return old, status
	}
	s.writes++
	o = object{data: data, etag: strconv.Quote(strconv.Itoa(s.writes)), header: http.Header{}}
	for key, values := range request {
		if strings.HasPrefix(key, s.keeps) {
			o.header[key] = values
		}
	}
	s.byName[name] = o
	if old.etag == "" {
		return o, http.StatusCreated
	}
	return o, http.StatusOK
}

// describe sets the headers of an answer about the object.
func (o object) describe(answer http.Header) {
	if o.etag == "" {
		return
	}
	answer.Set("ETag", o.etag)
	maps.Copy(answer, o.header)
}
