package main

import (
	"net/http"
	"strconv"
)

// tokenHeader carries the fencing token: in a request, the token of the writer's hold; in an
// answer, the largest token that the object was written with.
const tokenHeader = "Fencing-Token"

// Store is a service that compares fencing tokens itself: build this if the service is your own.
// It serves GET and PUT of /objects/{name}. The zero value is empty.
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
	_, _ = w.Write(o.data) // an error means that the client has gone
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
			// An equal token belongs to the same hold: its next write, or a repeat of this one.
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

// tokenOf parses a token. It returns zero if there is none: the object was never fenced.
func tokenOf(text string) int64 {
	token, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return token
}
