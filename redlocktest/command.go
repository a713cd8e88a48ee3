package redlocktest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// handshake are the commands that a master answers even when it refuses others: those that a LOADING
// server carries out.
var handshake = setOf("AUTH", "HELLO", "CLIENT", "INFO", "SELECT", "QUIT", "TIME", "CONFIG",
	"SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE")

// harmless are the commands that change no data but that miniredis does not list as read-only. EVAL
// is one, since each command that the script calls is checked by itself.
var harmless = setOf("EVAL", "EVALSHA", "SCRIPT", "PUBLISH", "PUBSUB", "PING", "ECHO", "COMMAND",
	"MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH", "MEMORY", "OBJECT", "WAIT")

// blocking are the commands that would block the whole master, since it runs one command at a time.
var blocking = setOf("BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "BLMPOP", "BZPOPMIN", "BZPOPMAX",
	"BZMPOP", "XREAD", "XREADGROUP")

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// ofWrites reports whether Redis refuses with msg only what changes data. A script cache holds none.
func ofWrites(msg string) bool {
	code, _, _ := strings.Cut(msg, " ")
	return code == "OOM" || code == "MISCONF" || code == "NOREPLICAS" || code == "READONLY"
}

// runLocked carries out a command: itself if miniredis lacks the command, else with miniredis. The
// caller holds master.mu.
func (s *session) runLocked(args []string) {
	m, cmd := s.master, strings.ToUpper(args[0])
	m.calls[cmd]++
	m.wrote = false
	m.tickLocked()
	refusal := m.settings.refusal
	switch {
	case cmd == "AUTH":
		s.authLocked(args[1:])
	case !s.authenticated && cmd != "QUIT" && cmd != "HELLO":
		s.peer.WriteError("NOAUTH Authentication required.")
	case refusal != "" && !handshake[cmd] && !(cmd == "SCRIPT" && ofWrites(refusal)):
		s.peer.WriteError(refusal)
	case cmd == "INFO":
		s.peer.WriteBulk(m.infoLocked(args[1:]))
	case cmd == "CLIENT" && len(args) == 2 && strings.EqualFold(args[1], "ID"):
		s.peer.WriteInt(int(s.id))
	case cmd == "CLIENT" && len(args) == 2 && strings.EqualFold(args[1], "INFO"):
		// As a container, a process has another address of its own than the one before.
		s.peer.WriteBulk(fmt.Sprintf("id=%d laddr=%s.%s:6379 db=%d\n", s.id, m.name, m.proc.runID[:8], s.db))
	case cmd == "CLIENT" && len(args) > 1 && strings.EqualFold(args[1], "KILL"):
		s.clientKillLocked(args[2:])
	case cmd == "CONFIG" && len(args) > 2 && strings.EqualFold(args[1], "GET"):
		s.peer.WriteStrings(m.configLocked(args[2:]))
	case blocking[cmd]:
		s.peer.WriteError(fmt.Sprintf("ERR redlocktest has no '%s': it would block the whole master", strings.ToLower(cmd)))
	default:
		s.dispatchLocked(cmd, args)
	}
}

// dispatchLocked lets miniredis carry out a command. The caller holds master.mu.
func (s *session) dispatchLocked(cmd string, args []string) {
	s.subscribed = s.subscribed || cmd == "SUBSCRIBE" || cmd == "PSUBSCRIBE"
	if s.subscribed {
		// Other goroutines may write messages at any moment, so nothing is held back.
		s.master.redis.Dispatch(s.peer, args)
		return
	}
	s.out.begin(cmd, args)
	s.master.redis.Dispatch(s.peer, args)
	s.peer.Flush()
	s.out.end()
	if db, err := strconv.Atoi(args[len(args)-1]); cmd == "SELECT" && err == nil {
		s.db = db
	}
}

// authLocked answers AUTH [user] password.
func (s *session) authLocked(args []string) {
	password := s.master.settings.password
	switch {
	case len(args) != 1 && len(args) != 2:
		s.peer.WriteError("ERR wrong number of arguments for 'auth' command")
	case password == "" && len(args) == 1:
		s.peer.WriteError("ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?")
	case password != "" && args[len(args)-1] != password, len(args) == 2 && args[0] != "default":
		s.peer.WriteError("WRONGPASS invalid username-password pair or user is disabled.")
	default:
		s.authenticated = true
		s.peer.WriteOK()
	}
}

// clientKillLocked answers CLIENT KILL ID n. Like Redis, it spares the connection that asks.
func (s *session) clientKillLocked(args []string) {
	if len(args) != 2 || !strings.EqualFold(args[0], "ID") {
		s.peer.WriteError("ERR syntax error")
		return
	}
	id, err := strconv.ParseInt(args[1], 10, 64)
	if err != nil || id < 1 {
		s.peer.WriteError("ERR client-id should be greater than 0")
		return
	}
	victim := s.proc.sessions[id]
	if victim == nil || victim == s {
		s.peer.WriteInt(0)
		return
	}
	victim.endLocked()
	s.peer.WriteInt(1)
}

// growing are the commands that take memory, of those that locks use: Redis calls them deny-oom.
var growing = setOf("SET", "HSET", "HSETNX", "HINCRBY", "INCR", "INCRBY", "ZADD", "ZINCRBY", "RPUSH")

// refuseWritesLocked is miniredis's hook before every command, including those that scripts call: a
// replica refuses to change data, and a master without memory to add any. Like Redis, it does not refuse
// that to a script which has changed something already.
func (m *Master) refuseWritesLocked(peer *server.Peer, cmd string, _ ...string) bool {
	switch {
	case handshake[cmd] || harmless[cmd] || m.redis.IsReadOnlyCommand(cmd):
		return false
	case m.settings.role != "master":
		peer.WriteError("READONLY You can't write against a read only replica.")
		return true
	case m.settings.full && growing[cmd] && !m.wrote:
		peer.WriteError("OOM command not allowed when used memory > 'maxmemory'.")
		return true
	}
	m.wrote = true
	return false
}

// discardScriptsLocked empties the script cache, which does not survive a restart. The caller holds
// m.mu.
func (m *Master) discardScriptsLocked() {
	m.redis.Dispatch(discard(), []string{"SCRIPT", "FLUSH"})
}

// nowLocked returns the time by the master's clock. The caller holds m.mu.
func (m *Master) nowLocked() time.Time { return time.Now().Add(m.settings.skew) }

// tickLocked sets the store's time, before anything reads the store. The caller holds m.mu.
func (m *Master) tickLocked() {
	if m.settings.skewed {
		m.store.SetTime(m.nowLocked())
	}
}
