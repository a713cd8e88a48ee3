package node

import (
	"errors"
	"strconv"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
)

// previousLink is what a node remembers of the connection before.
type previousLink struct {
	id        identity
	clientID  int64
	guardEnds clock.Instant
	ended     clock.Instant
}

// handshake asks who the master is, refuses one that must not vote, and makes sure that no
// command of the connection before runs from now on.
func (n *Node) handshake(l *link) error {
	asked := clock.Now()
	replies, err := l.askWords("INFO server", "INFO replication", "CLIENT ID", "PING", "TIME")
	if err != nil {
		return err
	}
	sections, clientID, pong, masterTime := replies[:2:2], replies[2], replies[3], replies[4]
	told := clock.Now()
	l.checked, l.silence, l.lastAnswer = asked, n.drawSilence(), told
	l.answerTime.add(told.Sub(asked))
	for _, reply := range replies {
		if refusal, refused := reply.(redis.Error); refused && cannotServe(refusal) {
			return refusal
		}
	}
	if _, refused := pong.(redis.Error); refused { // which does not say whether it still loads its data
		more, err := l.askWords("INFO persistence")
		if err != nil {
			return err
		}
		sections = append(sections, more...)
	}
	l.id = identify(sections...)
	if err := checkVersion(l.id.version); err != nil {
		return err
	}
	l.clientID, _ = clientID.(int64)
	if l.id.replica() {
		n.replicaRun = l.id.run
		return ErrReplica
	}
	if l.id.loading {
		return errors.New("loads its data from disk")
	}
	if err := n.cfg.Registry.add(n, l.id.run); err != nil {
		return err
	}
	n.warnIfRefused(clientID)
	l.guardEnds, l.mayBeGuarded = n.guardEnd(&l.id, told)
	if l.began = told.Add(-l.id.uptime); l.id.promoted {
		l.began = told
	}
	n.startClockCheck(l.id, asked, told, masterTime)

	// If it is the same process, what the old connection wrote may still be in a socket buffer
	// there. Once CLIENT KILL is answered, it has run or never will. A process that does not say which it
	// is may be another one, where a stranger's connection has the number.
	if n.previous.clientID != 0 && l.id.run != "" && n.previous.id.run == l.id.run {
		replies, err := l.askWords("CLIENT KILL ID " + strconv.FormatInt(n.previous.clientID, 10))
		if err != nil {
			return err
		}
		n.warnIfRefused(replies[0])
	}
	n.restarted = n.restarted || n.previous.id.run != "" && n.previous.id.run != l.id.run
	n.previous, n.replicaRun = previousLink{}, ""
	return nil
}

// warnIfRefused logs that old connections cannot be killed, if reply is a refusal.
func (n *Node) warnIfRefused(reply any) {
	if err, refused := reply.(redis.Error); refused {
		n.cfg.Logger.Warn("redlock: CLIENT KILL is refused, or CLIENT ID, which it needs: a lock that was released during an outage may stay taken until its lease ends",
			"master", n.cfg.Name, "error", err)
	}
}
