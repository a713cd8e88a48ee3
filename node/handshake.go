package node

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/clock"
	"example.com/redlock/internal/quote"
	"example.com/redlock/node/script"
)

// peer is the process that a connection leads to. It is what a node remembers of the connection before.
type peer struct {
	id        identity
	clientID  int64         // of the connection there, 0 if it does not say
	guardEnds clock.Instant // from then on the master grants holds
	ended     clock.Instant // when the connection has, if it is the one before
}

// connectionOf reads the reply to CLIENT INFO: "id=3 addr=… db=0 …". It returns the number of the connection, 0 if the
// master does not say, and that of the database that it leads to, -1 if not.
func connectionOf(reply any) (id int64, db int) {
	db = -1
	text, _ := reply.([]byte)
	for word := range strings.FieldsSeq(string(text)) {
		name, value, _ := strings.Cut(word, "=")
		if name != "id" && name != "db" {
			continue
		}
		switch number, err := strconv.ParseInt(value, 10, 64); {
		case err != nil || number < 0:
		case name == "id":
			id = number
		case number <= math.MaxInt32:
			db = int(number)
		}
	}
	return id, db
}

// greeting is what a new connection is asked.
var greeting = split("INFO server", "INFO replication", "CLIENT INFO", "PING", "TIME", script.Exist)

// handshake asks who the master is, refuses one that must not vote, and makes sure that no
// command of the connection before runs from now on, and that the master has the scripts.
func (n *Node) handshake(l *link) error {
	asked := clock.Now()
	replies, err := l.ask(greeting...)
	if err != nil {
		return err
	}
	sections, connection, pong, masterTime, scripts := replies[:2:2], replies[2], replies[3], replies[4], replies[5]
	told := clock.Now()
	l.checked, l.silence, l.lastAnswer = asked, n.drawSilence(), told
	l.answerTime.add(told.Sub(asked))
	for _, reply := range replies[:5] {
		if refusal, refused := reply.(redis.Error); refused && cannotServe(refusal) {
			return refusal
		}
	}
	l.id = identify(sections...)
	if l.id.replica() {
		n.replicaRun = l.id.run
	}
	if err := l.id.check(pong); err != nil {
		return err
	}
	l.clientID, l.process.DB = connectionOf(connection)
	if err := n.cfg.Registry.add(n, l.id.run); err != nil {
		return err
	}
	n.warnIfRefused(connection)
	var met bool
	l.guardEnds, met = n.guardEnd(&l.id, told)
	l.guarded = told.Left(l.guardEnds) > 0
	l.process.Run, l.process.Since = l.id.run, told
	if !l.id.promoted {
		l.process.Since = told.Add(-l.id.uptime)
	}

	// If it is the same process, what the old connection wrote may still be in a socket buffer
	// there. Once CLIENT KILL is answered, it has run or never will. A process that does not say which it
	// is may be another one, where a stranger's connection has the number.
	if n.previous.clientID != 0 && l.id.run != "" && n.previous.id.run == l.id.run {
		replies, err := l.ask(split("CLIENT KILL ID " + strconv.FormatInt(n.previous.clientID, 10))...)
		if err != nil {
			return err
		}
		n.warnIfRefused(replies[0])
	}
	if err := l.loadScripts(scripts); err != nil {
		return err
	}
	n.startClockCheck(l.id, asked, told, masterTime) // not before it is sure that this is the process that is used
	n.forgot = n.forgot || n.previous.id.run != "" && !met
	n.replicaRun = ""
	return nil
}

// loadScripts loads the scripts that the master lacks, which replied this to [script.Exist].
func (w *wire) loadScripts(reply any) error {
	if refusal, refused := reply.(redis.Error); refused {
		return lacking("+script|exists", refusal)
	}
	loads, err := script.Missing(reply)
	if len(loads) == 0 {
		return err
	}
	replies, err := w.ask(loads...)
	if err != nil {
		return err
	}
	for _, reply := range replies {
		if refusal, refused := reply.(redis.Error); refused {
			return lacking("+script|load", refusal)
		}
	}
	return nil
}

// lacking returns a refusal with the permission that the user lacks, as docs/operations.md has it.
func lacking(permission string, refusal redis.Error) redis.Error {
	if denied(refusal) {
		return refusal + redis.Error(" (the user needs the permission "+permission+")")
	}
	return refusal
}

// warnIfRefused logs that old connections cannot be killed, if reply is a refusal.
func (n *Node) warnIfRefused(reply any) {
	if err, refused := reply.(redis.Error); refused {
		n.cfg.Logger.Warn("redlock: CLIENT KILL is refused, or CLIENT INFO, which it needs: a lock that was released during an outage may stay taken until its lease ends",
			"master", n.cfg.Name, "error", err)
	}
}

// identity is what a master says of itself.
type identity struct {
	run     string        // run id, drawn anew by each process
	version string        // of Redis
	mode    string        // standalone, sentinel or cluster
	role    string        // master or slave
	uptime  time.Duration // by the master's wall clock, from the beginning of the second in which it started
	err     error         // why it does not say

	promoted bool   // it was a replica before it was a master
	history  string // replication id of its data, drawn anew by each promotion
}

// identify reads replies to INFO: each is a section.
func identify(replies ...any) identity {
	info, err := readInfo(replies...)
	id := identity{
		run:      info["run_id"],
		version:  info["redis_version"],
		mode:     cmp.Or(info["redis_mode"], info["server_mode"]), // the latter of Valkey
		role:     info["role"],
		history:  info["master_replid"],
		promoted: strings.Trim(info["master_replid2"], "0") != "" && strings.TrimPrefix(info["second_repl_offset"], "-1") != "",
		err:      err,
	}
	s, err := strconv.ParseInt(cmp.Or(info["uptime_in_seconds"], "0"), 10, 32)
	if err != nil {
		id.err = errors.New("INFO: uptime_in_seconds: " + quote.Value(info["uptime_in_seconds"]))
	}
	// It is negative when the master's wall clock was set back.
	id.uptime = time.Duration(max(0, s)) * time.Second
	// Redis subtracts the second in which it started from that of now. What has passed of the latter counts
	// too, so that all clients see the same age, whenever they ask. Redis 6.0 does not say it.
	us, _ := strconv.ParseInt(info["server_time_usec"], 10, 64) // by the master's wall clock
	id.uptime += time.Duration(max(0, us)%1e6) * time.Microsecond
	if id.run == "" && id.err == nil {
		id.err = errors.New("INFO: no run_id")
	}
	return id
}

// readInfo returns the names and values in replies to INFO, and why there are none.
func readInfo(replies ...any) (info map[string]string, err error) {
	info = make(map[string]string)
	for _, reply := range replies {
		text, told := reply.([]byte)
		if refusal, refused := reply.(redis.Error); refused && strings.HasPrefix(string(refusal), "NOPERM") {
			err = fmt.Errorf("INFO: %w", lacking("+info", refusal))
		} else if !told {
			err = errors.New("INFO: " + quote.Value(reply))
		}
		for line := range bytes.Lines(text) {
			if name, value, ok := bytes.Cut(bytes.TrimSpace(line), []byte(":")); ok && !bytes.HasPrefix(name, []byte("#")) {
				info[string(name)] = brief(value)
			}
		}
	}
	return info, err
}

// brief returns of a value no more than somebody may want to see.
func brief(value []byte) string { return quote.Brief(string(value), 2*quote.Most) }

// replica reports whether the process says that it is no master.
func (id *identity) replica() bool { return id.role != "" && id.role != "master" }

// minVersion is the oldest Redis that has every command the scripts call, and channels in ACL
// rules.
var minVersion = [2]int{6, 2}

// VersionError says that a master is too old.
type VersionError struct {
	Version string // as INFO tells it
}

func (e *VersionError) Error() string {
	return fmt.Sprintf("runs Redis %s, but %d.%d or later is needed", e.Version, minVersion[0], minVersion[1])
}

// check returns why a server that says this of itself, and pong to a PING, is not used as a master, if that is so.
func (id *identity) check(pong any) error {
	switch id.mode {
	case "sentinel":
		return errSentinel
	case "cluster":
		return errCluster
	}
	err := cmp.Or(checkVersion(id.version), checkPong(pong))
	if err == nil && id.replica() {
		return ErrReplica
	}
	return err
}

// checkPong returns an error unless reply is the reply to PING, or an error of the master: who answers with
// anything else does not answer what it was asked.
func checkPong(reply any) error {
	text, _ := redis.String(reply, nil)
	if _, refused := reply.(redis.Error); refused || text == "PONG" {
		return nil
	}
	return fmt.Errorf("%w: PING is answered with %s", errReply, quote.Value(reply))
}

// checkVersion returns a *VersionError for a version below minVersion, and nil for text that is no
// version.
func checkVersion(version string) error {
	first, rest, _ := strings.Cut(version, ".")
	second := rest[:len(rest)-len(strings.TrimLeft(rest, "0123456789"))]
	major, err := strconv.Atoi(first)
	minor, _ := strconv.Atoi(second)
	if err == nil && slices.Compare([]int{major, minor}, minVersion[:]) < 0 {
		return &VersionError{Version: version}
	}
	return nil
}
