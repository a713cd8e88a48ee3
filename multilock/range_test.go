package multilock

import (
	"testing"

	"example.com/redlock/multilock/attempt"
	"example.com/redlock/node/script"
)

// TestRangeIsThatOfScripts: a client that keeps a lock counts as many fencing tokens as masters leave it.
func TestRangeIsThatOfScripts(t *testing.T) {
	if attempt.Range != script.TokenRange {
		t.Errorf("the machine counts %d fencing tokens, and scripts %d", attempt.Range, script.TokenRange)
	}
}
