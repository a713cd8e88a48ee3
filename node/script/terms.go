package script

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"example.com/redlock/internal/quote"
)

// Terms are how a client uses its masters, as far as others have to know before they use some of them
// as well. Clients with the same terms share them at the masters.
type Terms struct {
	Masters []Master `json:"masters"`
	Part    string   `json:"part,omitempty"`  // which of several sets that names are spread over
	Lease   int64    `json:"lease"`           // ms, the longest that it takes
	Guard   int64    `json:"guard,omitempty"` // ms for which it keeps a master that restarted from granting; 0: not at all

	Layout int `json:"layout,omitempty"` // see [Layout]; 0: the client is older than the number

	// IDs of the sets that it spreads names over, in order, and of those that it will; none: it has no others.
	Now  []string `json:"now,omitempty"`
	Next []string `json:"next,omitempty"`

	Others map[string][]Master `json:"others,omitempty"` // the masters of its other sets, by ID
}

// Route names the sets that names are spread over.
func (t *Terms) Route() string {
	text := "the sets " + strings.Join(t.Now, ", ")
	if len(t.Next) > 0 {
		text += " now and " + strings.Join(t.Next, ", ") + " next"
	}
	return quote.Text(quote.Brief(text, longestText))
}

// longestText is how many bytes are written of what clients do: more than it takes to name a dozen masters.
const longestText = 1000

// Master is one that a client uses: a database of a server.
type Master struct {
	Run     string `json:"run,omitempty"`  // the beginning of the server's run id, empty if the client was never connected
	DB      int    `json:"db,omitempty"`   // number of the database, -1 if that is not known
	Address string `json:"at,omitempty"`   // as the client has it, empty if it does not say; see Place
	Gone    bool   `json:"gone,omitempty"` // the client has not been connected for long, so another process may serve there

	Young bool `json:"-"` // others may not have met this process yet
}

// shortRun is how many digits of a run id are published.
const shortRun = 8

// ShortRun returns the beginning of a run id, which is published.
func ShortRun(run string) string { return run[:min(len(run), shortRun)] }

// Same reports whether it is known that m and o are the same.
func Same(m, o *Master) bool {
	return m.Run != "" && m.Run == o.Run && (m.DB == o.DB || m.DB < 0 || o.DB < 0)
}

// Elsewhere reports whether clients that name their servers alike mean two servers by m and o.
func Elsewhere(m, o *Master) bool {
	at, other := Place(m), Place(o)
	return at != "" && other != "" && at != other
}

// Place returns the address of the master as it is published: empty for one on the client's own machine, which
// leads to another server on each, and for one that is too long.
func Place(m *Master) string {
	if strings.Contains(m.Address, OnHost) || len(m.Address) > longestPlace {
		return ""
	}
	return m.Address
}

// longestPlace bounds an address that is published.
const longestPlace = 128

// String names the master: by its address, or else by the beginning of its run id.
func (m *Master) String() string {
	name := m.Address
	switch {
	case name != "":
	case m.Run != "":
		name = "run " + m.Run
	default:
		return "one that is not connected"
	}
	if m.DB > 0 {
		name += fmt.Sprintf(" database %d", m.DB)
	}
	return name
}

// String names the masters.
func (t *Terms) String() string {
	names := make([]string, len(t.Masters))
	for i := range t.Masters {
		names[i] = t.Masters[i].String()
	}
	slices.Sort(names)
	text := strings.Join(names, ", ")
	if last := len(names) - 1; last > 0 {
		text = strings.Join(names[:last], ", ") + " and " + names[last]
	}
	return quote.Text(quote.Brief(text, longestText))
}

// longestTerms bounds what is published, and longestSets a list in it.
const (
	longestTerms = 4096
	longestSets  = 400
)

// Text returns the terms as they are published: the same for all clients that have the same.
func (t *Terms) Text() string {
	c := *t
	c.Masters = shared(t.Masters)
	if t.Others != nil {
		c.Others = make(map[string][]Master, len(t.Others))
		for id, masters := range t.Others {
			c.Others[id] = shared(masters)
		}
	}
	_, text := c.bounded()
	return string(text)
}

// bounded returns the terms as they are published, and as JSON: without the masters of other sets if those are many.
func (t *Terms) bounded() (c Terms, text []byte) {
	c = *t
	if text, _ = json.Marshal(c); len(text) > longestTerms { // strings and numbers
		c.Others = nil
		text, _ = json.Marshal(c)
	}
	return c, text
}

// Sets returns the IDs of sets as they are published: a long list as its hash, by which it is still told from others.
func Sets(ids []string) []string {
	text, _ := json.Marshal(ids)
	if len(text) <= longestSets {
		return ids
	}
	return []string{fmt.Sprintf("%d with the hash %x", len(ids), sha256.Sum256(text))}
}

// shared returns masters in an order that all clients agree on, without what only one client knows of them.
func shared(masters []Master) []Master {
	all := slices.Clone(masters)
	for i := range all {
		if all[i].Address = Place(&all[i]); all[i].Run == "" {
			all[i].Address = "" // it takes no lock there, and may be any
		}
	}
	slices.SortFunc(all, func(a, b Master) int {
		return cmp.Or(strings.Compare(a.Run, b.Run), cmp.Compare(a.DB, b.DB), strings.Compare(a.Address, b.Address))
	})
	return all
}

// OnHost stands between the address of a server on the client's own machine and the name of that.
const OnHost = " on "

// PublishTerms publishes terms, by their text, at a master for life, in place of what client published there before,
// and asks for those of others. ReadUses reads the reply. With alone, nothing is published if others have other
// terms. sent is what the master's clock shows as far as is known, or zero. If the command arrives more than 2 s after that,
// the life is shorter by as much: the client may have ended meanwhile.
//
// Cost: one script call, some 30 µs of the master's time.
func PublishTerms(client, text string, life time.Duration, sent time.Time, alone bool) *Command {
	var at int64
	if !sent.IsZero() {
		at = sent.UnixMilli()
	}
	how := ""
	if alone {
		how = "alone"
	}
	return uses(client, life.Milliseconds(), text, at, how)
}

// LookAtUses asks how clients use a master. ReadUses reads the reply. Cost: one script call.
func LookAtUses() *Command { return Withdraw("-") }

// Withdraw takes back what client published, and asks as LookAtUses does. Cost: one script call.
func Withdraw(client string) *Command { return uses(client, 0, "", 0, "") }

// usesSource is the script. It is rare, so it is sent whole each time.
var usesSource = text("uses.lua")

func uses(args ...any) *Command {
	return Plain("EVAL", append([]any{usesSource, 1, setsKey}, args...)...)
}

// Use is how some clients use a master.
type Use struct {
	*Terms
	Text string // of the terms, as they were published
	By   string // a client that has them; its record has this ID
}

// maxMasters is how many masters terms may have: more than any client uses.
const maxMasters = 64

// ReadUses returns the uses that a master knows, other than the client's own. ok is false if the reply is not
// one to PublishTerms or LookAtUses.
func ReadUses(reply any) (list []Use, ok bool) {
	if many, _ := reply.([]any); len(many) > 2*maxUses {
		return nil, false
	}
	words, err := redis.Strings(reply, nil)
	if err != nil || len(words)%2 != 0 {
		return nil, false
	}
	for w := range slices.Chunk(words, 2) {
		var t Terms
		if len(w[1]) <= longestTerms && json.Unmarshal([]byte(w[1]), &t) == nil && len(t.Masters) > 0 && len(t.Masters) <= maxMasters {
			list = append(list, Use{Terms: &t, Text: w[1], By: w[0]}) // else they are not of our kind
		}
	}
	return list, true
}
