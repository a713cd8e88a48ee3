// Package picture draws a history as one HTML page that needs nothing else: no network, no fonts, no
// server. It has a lane for each client and master, with holds, waits, hand-offs, faults, tokens and
// violations.
//
// What is to be drawn, and where, is computed here: see the type page. How it looks and how readers move
// in it is in the folder page. What of that is arithmetic is checked with
//
//	node internal/picture/testdata/check.js
package picture
