package script

import "github.com/gomodule/redigo/redis"

// Plain makes a command of Redis itself: it runs no script, and no owner has anything by it. The
// answer is Done with what the master replied, see [Answer.Reply], or Failed with its error.
//
// Cost: one command.
func Plain(name string, args ...any) *Command {
	return &Command{args: append([]any{name}, args...)}
}

// Plain returns the words of a plain command, the name first; nil if the command has steps of the
// script.
func (c *Command) Plain() []any {
	if c.steps != "" || len(c.args) == 0 {
		return nil
	}
	return c.args
}

// DecodePlain returns the meaning of the reply to a plain command, or of its refusal.
func DecodePlain(reply any, refusal redis.Error) Answer {
	if refusal != "" {
		return Answer{Outcome: Failed, Err: refusal}
	}
	return Answer{Outcome: Done, Reply: reply}
}
