package main

import (
	"net/http"
	"strings"
)

// metadataPrefix begins the headers that a bucket stores with an object without interpreting
// them: x-amz-meta- in S3, x-goog-meta- in GCS.
const metadataPrefix = "X-Meta-"

// Bucket stands for a store that is not your own, such as S3 or GCS: it knows nothing about
// tokens, and cannot compare them. It keeps metadata and offers conditional writes, which
// [BucketClient] turns into a fence. The zero value is empty.
//
//	here                S3                  GCS
//	If-Match: etag      If-Match: etag      x-goog-if-generation-match: generation
//	If-None-Match: *    If-None-Match: *    x-goog-if-generation-match: 0
//	412                 412, 409, 404       412
//
// S3 answers 409 when another write was under way at the same time, and 404 when the object with
// that ETag is gone. A client of S3 treats both as 412.
type Bucket struct{ objects objects }

// Handler serves the objects.
func (b *Bucket) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /objects/{name}", b.get) // and HEAD
	mux.HandleFunc("PUT /objects/{name}", b.put)
	return mux
}

func (b *Bucket) get(w http.ResponseWriter, r *http.Request) {
	o, ok := b.objects.get(r.PathValue("name"))
	if !ok {
		http.NotFound(w, r)
		return
	}
	for key, value := range o.metadata {
		w.Header().Set(key, value)
	}
	w.Header().Set("ETag", o.etag())
	_, _ = w.Write(o.data) // an error means that the client has gone
}

func (b *Bucket) put(w http.ResponseWriter, r *http.Request) {
	data, ok := body(w, r)
	if !ok {
		return
	}
	metadata := make(map[string]string)
	for key := range r.Header {
		if strings.HasPrefix(key, metadataPrefix) {
			metadata[key] = r.Header.Get(key)
		}
	}
	o, status := b.objects.put(r.PathValue("name"), data, metadata, func(old object, ok bool) int {
		return precondition(r.Header, old, ok)
	})
	if o.generation > 0 {
		w.Header().Set("ETag", o.etag())
	}
	w.WriteHeader(status)
}
