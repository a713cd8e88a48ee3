package node

import "errors"

// Remedy returns what helps against err, an error of a master, as docs/operations.md has it; empty if
// nothing is known.
func Remedy(err error) string {
	c, _ := conditionOf(err)
	return c.remedy
}

// About returns which check of package doctor tells of err.
func About(err error) string {
	c, known := conditionOf(err)
	if !known {
		return "reachable"
	}
	return c.about
}

// conditionOf returns what is wrong with a master that is to be mended, rather than waited for: a port
// that hangs up or is silent at the first command may well want TLS, or none.
func conditionOf(err error) (c condition, known bool) {
	if errors.Is(err, errHungUpFirst) || errors.Is(err, errTLSSilent) {
		err = errPlainPort
	}
	for _, c := range conditions {
		if c.is(err) {
			return c, true
		}
	}
	return condition{}, false
}

// denied reports whether the user may not do what was asked.
func denied(err error) bool { return About(err) == "permissions" }
