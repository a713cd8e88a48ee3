package script

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/quote"
)

// Terms are how a client uses its masters, as far as others have to know before they use some of them
// as well. Clients with the same terms share an entry at the masters.
type Terms struct {
	Masters []Master `json:"masters"`
	Part    string   `json:"part,omitempty"`    // which of several sets that names are spread over
	Lease   int64    `json:"lease"`             // ms, the longest that it takes
	Guard   int64    `json:"guard,omitempty"`   // ms for which it keeps a master that restarted from granting; 0: not at all
	Refused bool     `json:"refused,omitempty"` // it takes no lock, since others came first

	// IDs of the sets that it spreads names over, in order, and of those that it will; none: it has no others.
	Now  []string `json:"now,omitempty"`
	Next []string `json:"next,omitempty"`
}

// Route names the sets that names are spread over.
func (t *Terms) Route() string {
	text := "the sets " + strings.Join(t.Now, ", ")
	if len(t.Next) > 0 {
		text += " now and " + strings.Join(t.Next, ", ") + " next"
	}
	return quote.Text(quote.Brief(text, longestTerms))
}

// longestTerms is how many bytes are written of what clients do: more than it takes to name a dozen masters.
const longestTerms = 1000

// Master is one that a client uses.
type Master struct {
	Run     string `json:"run,omitempty"` // the beginning of its run id, empty while it is not connected
	Address string `json:"at,omitempty"`  // as the client has it, empty if that is not known

	Young bool `json:"-"` // whoever tells has met a process that others may not have met yet
}

// shortRun is how many digits of a run id are told.
const shortRun = 8

// NewMaster returns a master with that run id, which may be empty.
func NewMaster(run, address string) Master {
	return Master{Run: run[:min(len(run), shortRun)], Address: address}
}

// String names the masters: by their addresses, or else by the beginnings of their run ids.
func (t *Terms) String() string {
	names := make([]string, len(t.Masters))
	for i, m := range t.Masters {
		switch {
		case m.Address != "":
			names[i] = m.Address
		case m.Run != "":
			names[i] = "run " + m.Run
		default:
			names[i] = "one that is not connected"
		}
	}
	slices.Sort(names)
	text := strings.Join(names, ", ")
	if last := len(names) - 1; last > 0 {
		text = strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return quote.Text(quote.Brief(text, longestTerms))
}

// maxTerms is how many terms a master keeps.
const maxTerms = 64

// Text returns the terms as they are told: the same for all who have the same.
func (t *Terms) Text() string {
	c := *t
	c.Masters = slices.Clone(t.Masters)
	slices.SortFunc(c.Masters, func(a, b Master) int {
		return cmp.Or(strings.Compare(a.Address, b.Address), strings.Compare(a.Run, b.Run))
	})
	text, _ := json.Marshal(c) // strings and numbers
	return string(text)
}

// Publish tells a master the terms of client, which has used them for age ms, and asks for those of others,
// without the records of their clients. client is empty if it keeps no record. ReadUses reads the reply.
//
// Cost: one script call, some 30 µs of the master's time.
func (t *Terms) Publish(client string, age int64) *Command { return uses(t.Text(), client, age) }

// LookAtUses asks how clients use a master, and for a record of a client of each kind. ReadUses reads the
// reply.
//
// Cost: one script call.
func LookAtUses() *Command { return uses("", "", 0) }

// usesSource is the script. It is rare, so it is sent whole each time.
var usesSource = text("uses.lua")

func uses(terms, client string, age int64) *Command {
	return Plain("EVAL", usesSource, 1, setsKey, RecordLife.Milliseconds(), maxTerms, terms, age, client)
}

// Use is how some client uses a master. Times are ms by its clock.
type Use struct {
	Terms
	First, Last int64   // when the terms were published first, and last
	Client      string  // who published them last; empty if that has no record
	Record      *Record // of Client; nil if that has none, or was not asked for
	Text        string  // of the terms, as they were told
}

// Texts remembers what terms say: thousands of clients publish the same ones, time and again. The zero
// Texts remembers nothing yet.
type Texts map[string]*Terms

// read returns the terms that text tells, nil if they are not of our kind.
func (t *Texts) read(text string) *Terms {
	terms, ok := (*t)[text]
	if ok {
		return terms
	}
	var u Terms
	if json.Unmarshal([]byte(text), &u) == nil && len(u.Masters) > 0 && len(u.Masters) <= maxMasters {
		terms = &u
	}
	if *t == nil || len(*t) >= 4*maxTerms {
		*t = make(Texts)
	}
	(*t)[text] = terms
	return terms
}

// ReadUses returns the terms that a master knows, and what its clock shows. ok is false if the reply is
// not one to Publish or LookAtUses.
func (t *Texts) ReadUses(reply any) (list []Use, now int64, ok bool) {
	words, err := redis.Strings(reply, nil)
	if err != nil || len(words)%3 != 1 {
		return nil, 0, false
	}
	if now, err = strconv.ParseInt(words[0], 10, 64); err != nil {
		return nil, 0, false
	}
	for w := range slices.Chunk(words[1:], 3) {
		terms, value := t.read(w[0]), strings.SplitN(w[1], " ", 3)
		if terms == nil || len(value) != 3 {
			continue // not of our kind
		}
		first, err1 := strconv.ParseInt(value[0], 10, 64)
		last, err2 := strconv.ParseInt(value[1], 10, 64)
		if err1 != nil || err2 != nil || first <= 0 || first > last {
			continue
		}
		u := Use{Terms: *terms, First: first, Last: last, Client: value[2], Text: w[0]}
		if w[2] != "" {
			if r, ok := ReadRecord([]byte(w[2])); ok {
				u.Record = &r
			}
		}
		list = append(list, u)
	}
	return list, now, true
}

// maxMasters bounds those that terms may have: more than any client uses.
const maxMasters = 64
