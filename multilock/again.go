package multilock

import (
	"context"
	"errors"

	"example.com/redlock/multilock/poll"
)

// Enter enters h once more, for the entry of req, whether it is shared or not. It takes no lock anew: if h has
// ended, the error says why.
//
// Cost: one script call on each master.
func (m *Masters) Enter(ctx context.Context, h *Hold, req Request) error {
	req.Shared = h.Shared() // for the trace
	req.trace = m.startCall(ctx, &req)
	req.Shared = true // h may be downgraded meanwhile
	err := h.enter(ctx, &req)
	if errors.Is(err, errEnded) {
		h.d.drain()
		err = poll.Fail("enter", req.Key, h.Check())
	}
	req.trace.failed(err)
	return err
}
