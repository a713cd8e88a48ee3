// Package picture draws a history as one HTML page that needs nothing else: no network, no fonts, no
// server. It has a lane for each client and master, with holds, waits, hand-offs, faults, tokens and
// violations.
//
// Go computes what is drawn, and where: see the type page. The folder page says how it looks and how readers move in it.
// testdata/check.js checks the arithmetic of that, and TestArithmetic of integration/browser runs it.
package picture
