package node

import (
	"context"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
)

// lookAtUses asks how clients use the master.
func (p *probe) lookAtUses(context.Context) error {
	replies, err := p.ask(script.LookAtUses().Words(nil, false, false))
	if err != nil {
		return err
	}
	if refusal, refused := replies[0].(redis.Error); refused {
		p.facts.Unseen = append(p.facts.Unseen, Unseen{"HGETALL redlock_sets", refusal})
	}
	p.facts.Uses, p.facts.Shown, _ = new(script.Texts).ReadUses(replies[0])
	return nil
}
