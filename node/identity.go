package node

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// identity is what a master says of itself.
type identity struct {
	run     string        // run id, drawn anew by each process
	version string        // of Redis
	role    string        // master or slave
	uptime  time.Duration // by the master's wall clock, from the beginning of the second in which it started
	loading bool          // it is still reading its data from disk
	err     error         // why it does not say

	promoted bool   // it was a replica before it was a master
	history  string // replication id of its data, drawn anew by each promotion
}

// identify reads replies to INFO: each is a section.
func identify(replies ...any) identity {
	var id identity
	var secondID, secondOffset bool
	var now int64 // by the master's wall clock, in µs
	for _, reply := range replies {
		text, ok := reply.([]byte)
		if !ok {
			return identity{err: noIdentity(reply)}
		}
		for line := range bytes.Lines(text) {
			key, value, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":"))
			switch string(key) {
			case "run_id":
				id.run = string(value)
			case "redis_version":
				id.version = string(value)
			case "role":
				id.role = string(value)
			case "loading":
				id.loading = string(value) == "1"
			case "uptime_in_seconds":
				s, err := strconv.ParseInt(string(value), 10, 32)
				if err != nil {
					id.err = fmt.Errorf("INFO: uptime_in_seconds: %w", err)
				}
				// It is negative when the master's wall clock was set back.
				id.uptime = time.Duration(max(0, s)) * time.Second
			case "server_time_usec": // Redis 6.0 does not say it
				now, _ = strconv.ParseInt(string(value), 10, 64)
			case "master_replid":
				id.history = string(value)
			case "master_replid2":
				secondID = len(bytes.Trim(value, "0")) > 0
			case "second_repl_offset":
				secondOffset = len(bytes.TrimPrefix(value, []byte("-1"))) > 0
			}
		}
	}
	// Redis subtracts the second in which it started from that of now. What has passed of the latter counts
	// too, so that all clients see the same age, whenever they ask.
	id.uptime += time.Duration(max(0, now)%1e6) * time.Microsecond
	id.promoted = secondID && secondOffset
	if id.run == "" && id.err == nil {
		id.err = errors.New("INFO: no run_id")
	}
	return id
}

// replica reports whether the process says that it is no master.
func (id *identity) replica() bool { return id.role != "" && id.role != "master" }

// noIdentity explains a reply to INFO that tells nothing.
func noIdentity(reply any) error {
	refusal, refused := reply.(redis.Error)
	if refused && strings.HasPrefix(string(refusal), "NOPERM") {
		return fmt.Errorf("INFO: %w (the user needs the permission +info)", refusal)
	}
	return fmt.Errorf("INFO: %v", reply)
}
