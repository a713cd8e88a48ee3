package node

import (
	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/node/server"
)

// peer is the process that a connection leads to. It is what a node remembers of the connection before.
type peer struct {
	id        server.Greeting
	guardEnds clock.Instant // from then on the master grants holds
	ended     clock.Instant // when the connection has, if it is the one before
}

// handshake asks who the master is, refuses one that must not vote, and makes sure that no
// command of the connection before runs from now on, and that the master has the scripts.
func (n *Node) handshake(l *link) error {
	g, _, err := l.conn.Greet()
	l.id = g
	if g.Replica() {
		n.replicaRun = g.Run
	}
	if err != nil {
		return err
	}
	l.checked, l.silence, l.lastAnswer = g.Asked, n.drawSilence(), g.Told
	l.answerTime.add(g.Told.Sub(g.Asked))
	if err := n.cfg.Registry.add(n, g.Run); err != nil {
		return err
	}
	n.warnIfRefused(g.Client)
	var met bool
	l.guardEnds, met = n.guardEnd(&l.id.Identity, g.Told)
	l.guarded = g.Told.Left(l.guardEnds) > 0

	// If it is the same process, what the old connection wrote may still be in a socket buffer
	// there. Once CLIENT KILL is answered, it has run or never will. A process that does not say which it
	// is may be another one, where a stranger's connection has the number.
	if n.previous.id.ClientID != 0 && g.Run != "" && n.previous.id.Run == g.Run {
		replies, err := l.conn.Ask([]any{"CLIENT", "KILL", "ID", n.previous.id.ClientID})
		if err != nil {
			return err
		}
		n.warnIfRefused(replies[0])
	}
	if err := l.conn.LoadScripts(g.Scripts); err != nil {
		return err
	}
	n.startClockCheck(&g) // not before it is sure that this is the process that is used
	n.forgot = n.forgot || n.previous.id.Run != "" && !met
	n.replicaRun = ""
	return nil
}

// warnIfRefused logs that old connections cannot be killed, if reply is a refusal.
func (n *Node) warnIfRefused(reply any) {
	if err, refused := reply.(redis.Error); refused {
		n.cfg.Logger.Warn("redlock: CLIENT KILL is refused, or CLIENT INFO, which it needs: a lock that was released during an outage may stay taken until its lease ends",
			"master", n.cfg.Name, "error", err)
	}
}
