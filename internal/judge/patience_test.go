package judge

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// A history with too many orders to look at all of them in time has not passed.
func TestPatience(t *testing.T) {
	defer func(usual time.Duration) { patience = usual }(patience)
	patience = 20 * time.Millisecond
	var locks strings.Builder
	for i := range 40 {
		fmt.Fprintf(&locks, "1.%02d c%d call 1 lock a\n", i, i+1)
	}
	for i := range 40 {
		fmt.Fprintf(&locks, "2.%02d c%d grant 1 a token=5 until=2.9\n", i, i+1)
	}
	tokenless := func(r *record) Check {
		r.Run.Tokens = false
		return order(r)
	}
	try(t, tokenless, []sentence{{"of a lock", story(strings.Replace(locks.String(), "2.00", "> 2.00", 1) + `
		3.0 d1 call 1 lock a
		3.1 d1 grant 1 a token=5 until=5
		3.2 d2 call 1 lock a
		3.3 d2 grant 1 a token=5 until=5
		3.4 d1 alive 1 until=5
		3.4 d2 alive 1 until=5`), "gave up", false}})
}
