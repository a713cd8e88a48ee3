package main

import "net/http"

// metadataPrefix begins the headers that a bucket stores with an object without interpreting
// them: x-amz-meta- in S3, x-goog-meta- in GCS.
const metadataPrefix = "X-Meta-"

// NewBucket returns a service that stands for one that is not your own, such as S3 or GCS: it knows nothing about
// tokens, and cannot compare them. It keeps metadata and offers conditional writes, which
// [BucketClient] turns into a fence.
//
//	here                S3                  GCS
//	If-Match: etag      If-Match: etag      x-goog-if-generation-match: generation
//	If-None-Match: *    If-None-Match: *    x-goog-if-generation-match: 0
//	412                 412, 409, 404       412
//
// S3 answers 409 when another write was under way at the same time, and 404 when the object with
// that ETag is gone. A client of S3 treats both as 412.
func NewBucket() http.Handler { return newService(metadataPrefix, precondition) }

// precondition checks If-Match and If-None-Match as far as object stores support them: one ETag, or
// "*".
func precondition(request http.Header, old object) (status int) {
	matches := func(header string) bool {
		etag := request.Get(header)
		return old.etag != "" && (etag == "*" || etag == old.etag)
	}
	if request.Get("If-Match") != "" && !matches("If-Match") || matches("If-None-Match") {
		return http.StatusPreconditionFailed
	}
	return 0
}
