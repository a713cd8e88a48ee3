package node

import (
	"context"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/node/script"
)

// SetInUse is a set of masters that some client uses, as a master knows it.
type SetInUse struct {
	Set    string        // as clients publish it
	Seen   time.Duration // since it was published last
	Client string        // who did that, empty if that has no record
}

// lookAtSets asks which sets of masters are in use.
func (p *probe) lookAtSets(context.Context) error {
	replies, err := p.ask([]any{"TIME"}, script.Uses().Plain())
	if err != nil {
		return err
	}
	now, ok := timeOf(replies[0])
	if refusal, refused := replies[1].(redis.Error); refused || !ok {
		if refused {
			p.facts.Unseen = append(p.facts.Unseen, Unseen{"HGETALL redlock_sets", refusal})
		}
		return nil
	}
	for _, use := range script.ReadUses(replies[1]) {
		seen := now.Sub(time.UnixMilli(use.Last))
		if use.Last == 0 || seen > script.RecordLife {
			continue
		}
		found := SetInUse{Set: use.Set, Seen: max(0, seen)}
		if use.Client != "" {
			replies, err := p.ask(script.LookUp(use.Client).Plain())
			if err != nil {
				return err
			}
			if r, ok := script.ReadRecord(replies[0]); ok {
				found.Client = r.String()
			}
		}
		p.facts.Sets = append(p.facts.Sets, found)
	}
	return nil
}
