package trial

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// NewSinglePlan draws a plan of one kind of fault, again and again on so many masters, or on so many clients
// if that is what the kind falls on. It does not care what a majority forgets.
func NewSinglePlan(cfg Config, kindName string, many int) Plan {
	p := &planner{
		Rand:     rand.New(rand.NewPCG(cfg.Seed, 18)),
		cfg:      cfg,
		plan:     Plan{Durable: make([]bool, cfg.Masters)},
		free:     map[string]time.Duration{},
		echoes:   map[string]time.Duration{},
		deadline: cfg.Lasts,
	}
	for i := range p.plan.Durable {
		p.plan.Durable[i] = kindName == KillAOF || kindName == StopRestart && i%2 == 0
	}
	k := kindOf(kindName)
	for at := warmUp; at+k.least < cfg.Lasts; {
		prefix, of := "m", cfg.Masters
		if k.part == client {
			prefix, of = "c", cfg.Clients
		}
		var on []string
		for _, i := range p.Perm(of)[:many] {
			on = append(on, fmt.Sprint(prefix, i+1))
		}
		if kindName == CutClient {
			on = append(on, fmt.Sprint("c", 1+p.IntN(cfg.Clients)))
		}
		a := p.act(at, k, on)
		p.plan.Acts = append(p.plan.Acts, a)
		at += a.Lasts + p.between(second, 2*second)
	}
	return p.plan
}
