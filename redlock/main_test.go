package redlock_test

import (
	"testing"

	"go.uber.org/goleak"
)

// Tests outside synctest bubbles leave no goroutine behind; a bubble checks that itself.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
