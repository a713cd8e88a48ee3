package redlock

import "testing"

// When Ended returns, the context of an entry has ended, and so has that of LockAll around it: package multilock sends the
// release only then.
func TestContextsEndBeforeTheReleaseIsSent(t *testing.T) {
	for range 100 { // or a goroutine that is about to end them might be quick
		var e entry
		e.ctx.open(t.Context(), false, &e)
		all := around(t.Context(), false, nil, &Hold{of: &e.ctx})
		e.Ended(ErrLost)
		for _, w := range []*window{&e.ctx, all} {
			select { // not by Err, which would look at the clock
			case <-w.Done():
			default:
				t.Fatal("a context goes on")
			}
		}
	}
}
