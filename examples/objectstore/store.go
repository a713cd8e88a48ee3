package main

import (
	"net/http"
	"strconv"
)

// tokenHeader carries the fencing token: in a request that of the writer's hold, in an
// answer the largest one that the object was written with.
const tokenHeader = "Fencing-Token"

// Store is a service that compares fencing tokens itself: what to build where the service
// is your own. GET and PUT of /objects/{name}; the zero value is empty.
//
//	409 Conflict               the object was written by a later hold. Final: do not repeat
//	412 Precondition Failed    If-Match or If-None-Match: read again, and try again
//	428 Precondition Required  there is no token: the client has no lock, or forgot to say so
//
// A stale token is 409, not 412, because the two call for opposite reactions.
//
// The token orders writes. A client that writes what it made of an object it read sends
// If-Match as well: a late write of an older hold may land after that read, and in order.
// (Or the service lets a read raise the token, as ../sqlrow does; but a GET must not.)
//
// There is no DELETE. It would have to leave the token behind: a name that is forgotten
// takes any write.
type Store struct{ objects objects }

// Handler serves the objects.
func (s *Store) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /objects/{name}", s.get) // and HEAD
	mux.HandleFunc("PUT /objects/{name}", s.put)
	return mux
}

func (s *Store) get(w http.ResponseWriter, r *http.Request) {
	o, ok := s.objects.get(r.PathValue("name"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", o.etag())
	w.Header().Set(tokenHeader, o.metadata[tokenHeader])
	_, _ = w.Write(o.data) // the client has gone: nobody to tell
}

func (s *Store) put(w http.ResponseWriter, r *http.Request) {
	header := r.Header.Get(tokenHeader)
	if header == "" {
		http.Error(w, "no "+tokenHeader, http.StatusPreconditionRequired)
		return
	}
	token, err := strconv.ParseInt(header, 10, 64)
	if err != nil || token <= 0 {
		http.Error(w, tokenHeader+" is not a positive number", http.StatusBadRequest)
		return
	}
	data, ok := body(w, r)
	if !ok {
		return
	}
	o, status := s.objects.put(r.PathValue("name"), data, map[string]string{tokenHeader: header},
		func(old object, ok bool) (status int) {
			// An equal token is the same hold's: its next write, or a repeat of this one.
			if ok && tokenOf(old.metadata[tokenHeader]) > token {
				return http.StatusConflict
			}
			return precondition(r.Header, old, ok)
		})
	if o.generation > 0 {
		w.Header().Set("ETag", o.etag())
		w.Header().Set(tokenHeader, o.metadata[tokenHeader])
	}
	w.WriteHeader(status)
}

// tokenOf reads a token, zero where there is none: an object that was never fenced.
func tokenOf(text string) int64 {
	token, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return token
}
