package main

import (
	"io"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// metadataPrefix begins the headers that a bucket stores with an object without interpreting
// them: x-amz-meta- in S3, x-goog-meta- in GCS.
const metadataPrefix = "X-Meta-"

// bucket stores objects in memory.
type bucket struct {
	mu      sync.Mutex
	objects map[string]object
	writes  int
}

// object is what is stored under a name, the zero object if there is nothing.
type object struct {
	data     []byte
	etag     string // of a number that grows with each write of any object: a hash would not do, see [Client]
	metadata http.Header
}

// NewBucket returns a service that stands for one that is not your own, such as S3 or GCS: it knows nothing about
// tokens, and cannot compare them. It keeps metadata and offers conditional writes, which
// [Client] turns into a fence. It serves GET and PUT of /objects/{name}.
//
//	here                S3                  GCS
//	If-Match: etag      If-Match: etag      x-goog-if-generation-match: generation
//	If-None-Match: *    If-None-Match: *    x-goog-if-generation-match: 0
//	412                 412, 409, 404       412
//
// S3 answers 409 when another write was under way at the same time, and 404 when the object with
// that ETag is gone. A client of S3 treats both as 412.
func NewBucket() http.Handler {
	b := &bucket{objects: map[string]object{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /objects/{name}", b.get) // and HEAD
	mux.HandleFunc("PUT /objects/{name}", b.put)
	return mux
}

func (b *bucket) get(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	o := b.objects[r.PathValue("name")]
	b.mu.Unlock()
	if o.etag == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", o.etag)
	maps.Copy(w.Header(), o.metadata)
	_, _ = w.Write(o.data) // an error means that the client has gone
}

// put checks the condition and writes in one step: with a gap between them, the check would be worthless.
func (b *bucket) put(w http.ResponseWriter, r *http.Request) {
	data, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	name := r.PathValue("name")
	if !precondition(r.Header, b.objects[name]) {
		w.WriteHeader(http.StatusPreconditionFailed)
		return
	}
	b.writes++
	o := object{data: data, etag: strconv.Quote(strconv.Itoa(b.writes)), metadata: http.Header{}}
	for key, values := range r.Header {
		if strings.HasPrefix(key, metadataPrefix) {
			o.metadata[key] = values
		}
	}
	b.objects[name] = o
}

// precondition checks If-Match and If-None-Match as far as object stores support them: one ETag, or
// "*".
func precondition(request http.Header, old object) bool {
	matches := func(header string) bool {
		etag := request.Get(header)
		return old.etag != "" && (etag == "*" || etag == old.etag)
	}
	return (request.Get("If-Match") == "" || matches("If-Match")) && !matches("If-None-Match")
}
