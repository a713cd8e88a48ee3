package redlocktest

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// handshake are the commands that a refusing master answers all the same: those a LOADING
// server carries out.
var handshake = setOf("AUTH", "HELLO", "CLIENT", "INFO", "SELECT", "QUIT", "TIME", "CONFIG",
	"SUBSCRIBE", "UNSUBSCRIBE", "PSUBSCRIBE", "PUNSUBSCRIBE")

// harmless are the commands that change no data although miniredis does not list them as
// read-only. EVAL is one: each command of the script is asked for by itself.
var harmless = setOf("EVAL", "EVALSHA", "SCRIPT", "PUBLISH", "PUBSUB", "PING", "ECHO", "COMMAND",
	"MULTI", "EXEC", "DISCARD", "WATCH", "UNWATCH", "MEMORY", "OBJECT", "WAIT")

// blocking are the commands that would stop the whole master, since it runs one at a time.
var blocking = setOf("BLPOP", "BRPOP", "BRPOPLPUSH", "BLMOVE", "BLMPOP", "BZPOPMIN", "BZPOPMAX",
	"BZMPOP", "XREAD", "XREADGROUP")

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// run carries out a command: here what miniredis lacks, there the rest. master.mu is held.
func (s *session) run(args []string) {
	m, cmd := s.master, strings.ToUpper(args[0])
	m.tally.add(cmd)
	m.tick()
	refusal := m.settings.refusal
	switch {
	case cmd == "AUTH":
		s.auth(args[1:])
	case !s.authenticated && cmd != "QUIT" && cmd != "HELLO":
		s.peer.WriteError("NOAUTH Authentication required.")
	case refusal != "" && !handshake[cmd]:
		s.peer.WriteError(refusal)
	case cmd == "INFO":
		s.peer.WriteBulk(m.info(args[1:]))
	case cmd == "CLIENT" && len(args) == 2 && strings.EqualFold(args[1], "ID"):
		s.peer.WriteInt(int(s.id))
	case cmd == "CLIENT" && len(args) > 1 && strings.EqualFold(args[1], "KILL"):
		s.clientKill(args[2:])
	case cmd == "CONFIG" && len(args) > 2 && strings.EqualFold(args[1], "GET"):
		s.peer.WriteStrings(m.config(args[2:]))
	case blocking[cmd]:
		s.peer.WriteError(fmt.Sprintf("ERR redlocktest has no '%s': it would block the whole master", strings.ToLower(cmd)))
	default:
		s.dispatch(cmd, args)
	}
}

// dispatch lets miniredis carry out a command. master.mu is held.
func (s *session) dispatch(cmd string, args []string) {
	s.subscribed = s.subscribed || cmd == "SUBSCRIBE" || cmd == "PSUBSCRIBE"
	if s.subscribed {
		// Messages are written at any moment, by other goroutines.
		s.master.redis.Dispatch(s.peer, args)
		return
	}
	s.out.begin(cmd, args)
	s.master.redis.Dispatch(s.peer, args)
	s.peer.Flush()
	s.out.end()
}

// auth answers AUTH [user] password.
func (s *session) auth(args []string) {
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

// clientKill answers CLIENT KILL ID n. Like Redis it spares the caller itself.
func (s *session) clientKill(args []string) {
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
	victim.end()
	s.peer.WriteInt(1)
}

// refuseWrites is miniredis' hook before every command, also of those that scripts call: a
// replica refuses to change data.
func (m *Master) refuseWrites(peer *server.Peer, cmd string, _ ...string) bool {
	if m.settings.role == "master" || handshake[cmd] || harmless[cmd] || m.redis.IsReadOnlyCommand(cmd) {
		return false
	}
	peer.WriteError("READONLY You can't write against a read only replica.")
	return true
}

// discardScripts empties the script cache, which no restart survives. m.mu is held.
func (m *Master) discardScripts() {
	m.redis.Dispatch(discard(), []string{"SCRIPT", "FLUSH"})
}

// now is the time by the master's clock. m.mu is held.
func (m *Master) now() time.Time { return time.Now().Add(m.settings.skew) }

// tick tells the store the time, before anything looks at it. m.mu is held.
func (m *Master) tick() {
	if m.settings.skewed {
		m.store.SetTime(m.now())
	}
}
