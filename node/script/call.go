package script

// Call is one call of the script that carries out commands in their order. The zero Call is empty.
// It is meant to be used again: what it returned before is then overwritten.
type Call struct {
	list  []any // what Arguments returns
	keys  []any
	args  []any
	steps []byte
}

// Reset empties the call.
func (c *Call) Reset() {
	clear(c.keys) // so that it keeps nothing alive
	clear(c.args)
	clear(c.list)
	c.keys, c.args, c.steps, c.list = c.keys[:0], c.args[:0], c.steps[:0], c.list[:0]
}

// Add adds cmd to the call. If guarded, it is for a guarded master: the command then neither heals
// nor hands off; see also [Command.Grants].
func (c *Call) Add(cmd *Command, guarded bool) {
	first := len(c.args)
	c.keys, c.args = append(c.keys, cmd.keys...), append(c.args, cmd.args...)
	from := len(c.steps)
	c.steps = append(c.steps, cmd.steps...)
	if !guarded {
		return
	}
	if token := cmd.tokenArg(); token >= 0 {
		c.args[first+token] = nothing
	}
	for i, step := range c.steps[from:] {
		switch step {
		case renewStep:
			c.steps[from+i] = renewNoHealingStep
		case renewSharedStep:
			c.steps[from+i] = renewSharedNoHealingStep
		case renewSlotStep:
			c.steps[from+i] = renewSlotNoHealingStep
		}
	}
}

// Arguments returns the arguments of EVALSHA, or with source those of EVAL.
func (c *Call) Arguments(withSource bool) []any {
	name := sha
	if withSource {
		name = source
	}
	c.list = append(c.list[:0], name, len(c.keys))
	c.list = append(c.list, c.keys...)
	if len(c.steps) == 1 {
		c.list = append(c.list, letters[c.steps[0]])
	} else {
		c.list = append(c.list, string(c.steps))
	}
	c.list = append(c.list, c.args...)
	return c.list
}

// letters are the texts of one letter: saves an allocation, 10 of a lock on five masters.
var letters = func() (all [128]any) {
	for i := range all {
		all[i] = string(rune(i))
	}
	return all
}()
