package doctor

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"

	"example.com/redlock/doctor/probe"
	"example.com/redlock/internal/quote"
	"example.com/redlock/node/server"
)

// permissions notes what the user may not do, and which commands the master does not know.
func (e *exam) permissions(f *probe.Facts) {
	missing := map[string][]string{} // by what does not work without them
	for _, d := range f.Denials {
		switch {
		case server.About(d.Err) == "commands":
			e.note(f, "commands", Warning, "do not rename commands; use Redis or Valkey",
				"does not know %s: %s", strings.ToUpper(strings.TrimPrefix(d.What, "+")), lack(d.Without))
		case d.What == probe.AllNames:
			e.note(f, "permissions", Error, "give doctor one of your names, or how they begin: --name orders:",
				"the user may not use every name: doctor made one up, and so cannot tell whether yours can be locked")
		case stranger(f) && (d.What[0] == '~' && d.Without == "" || strings.HasPrefix(d.What, "&redisson")):
			// What belongs to that name is refused as well, which says no more.
		default:
			missing[d.Without] = append(missing[d.Without], d.What)
		}
	}
	for _, without := range slices.Sorted(maps.Keys(missing)) {
		rules := strings.Join(missing[without], " ")
		e.note(f, "permissions", Warning, "ACL SETUSER … "+rules+" (see docs/operations.md#permissions)",
			"the user lacks %s: %s", rules, lack(without))
	}
}

// stranger reports whether the user may not use the name that doctor made up.
func stranger(f *probe.Facts) bool {
	return slices.ContainsFunc(f.Denials, func(d probe.Refusal) bool { return d.What == probe.AllNames })
}

// lack says what it means that a right is missing, without which something does not work.
func lack(without string) string {
	return cmp.Or(without, "no lock can be had there, or scripts fail halfway")
}

// ifTried says verdict, if a name was locked at a master.
func ifTried(verdict string) func(*exam) string {
	return func(e *exam) string {
		if !slices.ContainsFunc(e.facts, func(f *probe.Facts) bool { return len(f.Scripts) > 0 }) {
			return ""
		}
		return verdict
	}
}

func (e *exam) channels(f *probe.Facts) {
	if f.Settings["acl-pubsub-default"] == "allchannels" && !f.Open {
		e.note(f, "channels", Note, "CONFIG SET acl-pubsub-default resetchannels, also in redis.conf, and name the channels of each user",
			"acl-pubsub-default is allchannels: users whose rules name no channels may listen and send where waiters are told of their turn")
	}
}

func (e *exam) trial(f *probe.Facts) {
	if len(f.Trials) == 0 || slices.ContainsFunc(f.Denials, func(d probe.Refusal) bool { return d.Without == "" }) {
		return
	}
	first := f.Trials[0]
	e.note(f, "trial", Warning, cmp.Or(server.Remedy(first.Err), "see the master's log"), "to %s fails on a scratch name: %s", first.What, first.Err)
}

func (e *exam) subscription(f *probe.Facts) {
	if f.Channel == nil || stranger(f) {
		return
	}
	remedy := server.Remedy(f.Channel)
	switch {
	case errors.Is(f.Channel, server.ErrTimeout):
		remedy = "see whether the pool has room for two connections, and whether packets arrive"
	case server.About(f.Channel) == "permissions":
		remedy = "ACL SETUSER … +subscribe +unsubscribe, and both channels of docs/operations.md#permissions"
	}
	e.note(f, "subscription", Warning, remedy, "no subscription: %s: waiters are not told that a lock is theirs, and ask from time to time", f.Channel)
}

func (e *exam) idleTimeout(f *probe.Facts) {
	if s, _ := number(f, "timeout"); s > 0 && s < 30 {
		e.note(f, "idle-timeout", Warning, "CONFIG SET timeout 0, or 30 or more, also in redis.conf",
			"timeout is %d s, and connections of an idle client are silent for up to 18 s, so some are closed", s)
	}
}

func (e *exam) maxClients(f *probe.Facts) {
	has, _ := number(f, "connected_clients")
	most, _ := number(f, "maxclients")
	if most > 0 && percent(has, most) >= 80 {
		e.note(f, "max-clients", Warning, "raise maxclients", "%s of %d that maxclients allows", count(has, "client"), most)
	}
}

func (e *exam) foreignLocks(f *probe.Facts) {
	if keys := f.Sample.Tokens; len(keys) > 0 {
		e.note(f, "foreign-locks", Warning, "let all programs lock a name with the same library (see docs/migrating.md)",
			"%d of %d keys looked at may be locks of another library (redsync, bsm/redislock): %s",
			len(keys), f.Sample.Scanned, quote.Few(keys, strconv.Quote))
	}
}

func (e *exam) redisson(f *probe.Facts) {
	if keys := f.Sample.Redisson; len(keys) > 0 {
		e.note(f, "redisson", Note, "see docs/migrating.md", "clients of Redisson have %s, and share names with ours", quote.Few(keys, strconv.Quote))
	}
}

func (e *exam) foreignKeys(f *probe.Facts) {
	if keys := f.Sample.Wrong; len(keys) > 0 {
		e.note(f, "foreign-keys", Warning, "find out what wrote that, and delete it: a lock with such a key cannot be had",
			"has %s of another type under redlock's own prefixes: %s", count(len(keys), "key"), quote.Few(keys, strconv.Quote))
	}
}
