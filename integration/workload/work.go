package workload

import (
	"context"
	"errors"

	"example.com/redlock/integration/register"
	"example.com/redlock/internal/history"
)

// work reads the registers of the hold, and unless it is a reader's, adds one to each. It reports whether
// the hold was alive before and after each write. Between the look before and the write some time passes, as
// in any program. If the hold ends then, only its token can tell.
func (c *caller) work(hd *held) bool {
	if c.registers == nil {
		return hd.alive()
	}
	for _, do := range []struct{ read, write history.Do }{
		{history.PlainReading, history.PlainWriting},
		{history.Reading, history.Writing},
	} {
		if do.read == history.Reading && hd.token == 0 {
			break // to a register that looks at tokens, it has nothing to show
		}
		if !hd.alive() {
			return false
		}
		value, err := c.register(hd, do.read, 0, 0)
		if err != nil || hd.shared {
			continue
		}
		if !hd.alive() {
			return false
		}
		c.pause(c.compute())
		_, _ = c.register(hd, do.write, value, value+1)
	}
	return hd.alive()
}

// register reads or writes one of the hold's registers, and returns the value that it read. base is what
// the writer read before.
func (c *caller) register(hd *held, do history.Do, base, value int64) (read int64, err error) {
	key := hd.key()
	e := history.Event{Do: do, Hold: hd.number, Names: []string{key}, Token: hd.token, Base: base, Value: value}
	err = c.call(context.Background(), e, func(_ int, result *history.Event) error {
		reply, err := c.registers.Do(register.Request{
			Do: do, Who: c.cfg.Who, Hold: hd.number, Name: key, Token: hd.token, Base: base, Value: value,
		})
		read, result.Value = reply.Value, reply.Value
		switch {
		case errors.Is(err, register.ErrStale):
			result.Err, result.Text = history.Stale, err.Error()
		case err != nil:
			result.Err, result.Text = history.Unreached, err.Error()
		}
		return err
	})
	return read, err
}
