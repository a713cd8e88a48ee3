package server

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

// Greeting is what a server says of itself on a new connection.
type Greeting struct {
	Identity
	ClientID int64 // number of the connection there, 0 if it does not say
	DB       int   // number of the database that the connection leads to, -1 if it does not say

	Asked, Told clock.Instant // between these it said so

	Time, Client, Scripts any // the replies to TIME, CLIENT INFO and [script.Exist]
}

var greeting = [][]any{{"INFO", "server"}, {"INFO", "replication"}, {"CLIENT", "INFO"}, {"PING"}, {"TIME"}, script.Exist}

// Greet asks who the server is, and more along with that, to which it returns the replies. It returns an error, and
// what there is of the rest, if the server must not be used as a master, or cannot serve just now.
func (c *Conn) Greet(more ...[]any) (g Greeting, replies []any, err error) {
	g.Asked = clock.Now()
	all, err := c.Ask(slices.Concat(greeting, more)...)
	if err != nil {
		return g, nil, err
	}
	g.Told = clock.Now()
	c.server.greeted.Store(true)
	info, pong := all[:2:2], all[3]
	g.Client, g.Time, g.Scripts, replies = all[2], all[4], all[5], all[len(greeting):]
	for _, reply := range all[:5] {
		if refusal, refused := reply.(redis.Error); refused && CannotServe(refusal) {
			return g, replies, refusal
		}
	}
	g.Identity = Identify(info...)
	g.ClientID, g.DB = connectionOf(g.Client)
	return g, replies, g.check(pong)
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

// Sample is one answer to TIME. The server read its clock between Sent and Read, by ours.
type Sample struct {
	Sent, Read clock.Instant
	Told       time.Time
}

// lastSecond is in 2242, and stands for all times after it: sums with them would overflow. A clock that jumped there has run
// ahead, which must not pass unseen.
const lastSecond = 1 << 33

// Beyond reports whether Told only stands for a later time.
func (s *Sample) Beyond() bool { return s.Told.Unix() >= lastSecond }

// SampleOf reads the reply to TIME, seconds and microseconds, which was asked for at sent and read at read. ok is false if it
// tells no time.
func SampleOf(sent, read clock.Instant, reply any) (s Sample, ok bool) {
	list, _ := reply.([]any)
	if len(list) != 2 {
		return s, false
	}
	sec, err1 := redis.Int64(list[0], nil)
	us, err2 := redis.Int64(list[1], nil)
	if err1 != nil || err2 != nil || sec < 1 || us < 0 || us > 999_999 {
		return s, false
	}
	return Sample{Sent: sent, Read: read, Told: time.Unix(min(sec, lastSecond), us*1000)}, true
}

// LoadScripts loads the scripts that the server lacks. reply is its reply to [script.Exist].
func (c *Conn) LoadScripts(reply any) error {
	if refusal, refused := reply.(redis.Error); refused {
		return lacking("+script|exists", refusal)
	}
	loads, err := script.Missing(reply)
	if len(loads) == 0 {
		return err
	}
	replies, err := c.Ask(loads...)
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

// lacking adds to a refusal which permission the user lacks, as docs/operations.md has it.
func lacking(permission string, refusal redis.Error) redis.Error {
	if Denied(refusal) {
		return refusal + redis.Error(" (the user needs the permission "+permission+")")
	}
	return refusal
}

// Identity is what a master says of itself.
type Identity struct {
	Run     string        // run id, drawn anew by each process
	Version string        // of Redis
	Mode    string        // standalone, sentinel or cluster
	Role    string        // master or slave
	Uptime  time.Duration // by the master's wall clock, from the beginning of the second in which it started
	Err     error         // why it does not say

	Promoted bool   // it was a replica before it was a master
	History  string // replication id of its data, drawn anew by each promotion
}

// Identify reads replies to INFO: each is a section.
func Identify(replies ...any) Identity {
	info, err := ReadInfo(replies...)
	id := Identity{
		Run:      info["run_id"],
		Version:  info["redis_version"],
		Mode:     cmp.Or(info["redis_mode"], info["server_mode"]), // the latter of Valkey
		Role:     info["role"],
		History:  info["master_replid"],
		Promoted: strings.Trim(info["master_replid2"], "0") != "" && strings.TrimPrefix(info["second_repl_offset"], "-1") != "",
		Err:      err,
	}
	s, err := strconv.ParseInt(cmp.Or(info["uptime_in_seconds"], "0"), 10, 32)
	if err != nil {
		id.Err = errors.New("INFO: uptime_in_seconds: " + quote.Value(info["uptime_in_seconds"]))
	}
	// It is negative when the master's wall clock was set back.
	id.Uptime = time.Duration(max(0, s)) * time.Second
	// Redis counts whole seconds from the one in which it started. What has passed of the present second is added, so that
	// all clients see the same age, whenever they ask. Redis 6.0 does not tell it.
	us, _ := strconv.ParseInt(info["server_time_usec"], 10, 64) // by the master's wall clock
	id.Uptime += time.Duration(max(0, us)%1e6) * time.Microsecond
	if id.Run == "" && id.Err == nil {
		id.Err = errors.New("INFO: no run_id")
	}
	return id
}

// ReadInfo returns the names and values in replies to INFO, and why there are none.
func ReadInfo(replies ...any) (info map[string]string, err error) {
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

// brief returns the beginning of a long value.
func brief(value []byte) string { return quote.Brief(string(value), 2*quote.Most) }

// Replica reports whether the process says that it is no master.
func (id *Identity) Replica() bool { return id.Role != "" && id.Role != "master" }

// GrantsIn returns in how long the master may grant holds to a client that has this guard, and has met it before or not.
// A master that was a replica may lack votes that its old master gave, and does not say when it was promoted.
func (id *Identity) GrantsIn(guard time.Duration, met bool) time.Duration {
	switch {
	case guard <= 0:
		return 0
	case id.Err != nil:
		return script.Never / 2
	case id.Promoted && !met:
		return WholeGuard(guard)
	}
	return WholeGuard(guard) - id.Uptime
}

// WholeGuard is guard with what is added to it: drift, and a second, since a master counts its age from the beginning of
// the second in which it started.
func WholeGuard(guard time.Duration) time.Duration { return guard + clock.Drift(guard) + time.Second }

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
func (id *Identity) check(pong any) error {
	switch id.Mode {
	case "sentinel":
		return errSentinel
	case "cluster":
		return errCluster
	}
	err := cmp.Or(checkVersion(id.Version), CheckPong(pong))
	if err == nil && id.Replica() {
		return ErrReplica
	}
	return err
}

// CheckPong returns an error unless reply is the reply to PING, or an error of the server. Anything else is the answer to
// something that was not asked.
func CheckPong(reply any) error {
	text, _ := redis.String(reply, nil)
	if _, refused := reply.(redis.Error); refused || text == "PONG" {
		return nil
	}
	return fmt.Errorf("%w: PING is answered with %s", ErrReply, quote.Value(reply))
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
