package picture

import (
	"encoding/json"
	"reflect"
	"strconv"
	"time"

	"example.com/redlock/internal/history"
)

// page is what the script draws. Whatever there is many of is written as an array of its fields, in
// their order, which page/data.js knows too.
type page struct {
	Run        run         `json:"run"`
	Names      []string    `json:"names"` // those that bars and waits refer to
	Lanes      []lane      `json:"lanes"`
	Bars       []bar       `json:"bars"`
	Waits      []wait      `json:"waits"`
	Marks      []mark      `json:"marks"`
	HandOffs   []handOff   `json:"handoffs"`
	Faults     []fault     `json:"faults"`
	Violations []violation `json:"violations"` // null: nobody judged
}

// fields writes a struct as an array of its fields.
func fields(of any) ([]byte, error) {
	var list []any
	for _, field := range reflect.ValueOf(of).Fields() {
		list = append(list, field.Interface())
	}
	return json.Marshal(list)
}

// run is what the header tells.
type run struct {
	Title    string   `json:"title"`
	Seed     uint64   `json:"seed,string"` // it can have more digits than a number in JavaScript
	Began    string   `json:"began,omitempty"`
	Masters  []string `json:"masters"`
	Lease    at       `json:"lease"`
	MaxLease at       `json:"maxlease"`
	Guard    at       `json:"guard"`
	Replay   string   `json:"replay,omitempty"`
	From     at       `json:"from"` // of the first event
	Over     at       `json:"over"`
	End      at       `json:"end"`
	Calls    int      `json:"calls"`
	Granted  int      `json:"granted"`
	Faults   int      `json:"faults"`
	Kinds    int      `json:"kinds"` // of faults
}

// at is a time since the run began. The page has it in whole microseconds, and -1 for never.
type at time.Duration

const never = at(history.Never)

func (t at) MarshalJSON() ([]byte, error) {
	if t == never {
		return []byte("-1"), nil
	}
	return strconv.AppendInt(nil, time.Duration(t).Microseconds(), 10), nil
}

// lane is a strip of the picture: a client with all its lives, or a master.
type lane struct {
	Name   string `json:"name"`
	Master bool   `json:"master,omitempty"`
	Rows   int    `json:"rows"`  // for bars and waits
	Above  int    `json:"above"` // rows for faults, above those
	Lives  []life `json:"lives,omitempty"`
	Gaps   []gap  `json:"gaps,omitempty"`
}

// life is a process of a client.
type life struct {
	Who    string `json:"who"`
	Skew   at     `json:"skew"`
	Began  at     `json:"began"`
	Ended  at     `json:"ended"`
	Killed bool   `json:"killed,omitempty"`
}

// gap is a time in which a process did not run.
type gap struct {
	From    at   `json:"from"`
	To      at   `json:"to"`
	Stopped bool `json:"stopped,omitempty"` // from outside; otherwise it noticed by itself
}

// ending is how a hold ended.
type ending int

const (
	unlocked ending = iota
	lost
	died // with its process
	open // it did not, in this run
)

// bar is a hold.
type bar struct {
	Lane, Row  int
	Name, Slot int
	Shared     bool
	Token      string // it can have more digits than a number in JavaScript
	Asked      at     // when the call that was granted it began
	At         at     // the grant
	End        at     // the holder gave it up, or learned that it was lost
	Until      at     // its validity, as told last
	Gone       at     // Unlock returned
	Downgraded at
	How        ending
	Who        string
	Hold, Call int // their numbers
	Do         history.Do
	Why        string // of a loss
}

func (b bar) MarshalJSON() ([]byte, error) { return fields(b) }

// wait is a call that asked for a hold and got none.
type wait struct {
	Lane, Row int
	Names     []int
	At, End   at
	Deadline  at
	Err       history.Failure // empty: it did not return
	Who       string
	Call      int
	Do        history.Do
	Text      string
}

func (w wait) MarshalJSON() ([]byte, error) { return fields(w) }

// mark is something that happened to a hold.
type mark struct {
	Bar  int // index of its bar
	At   at
	What string // "write"; "late write", with an older token than one before; "renewed", "extended", "not extended"
}

func (m mark) MarshalJSON() ([]byte, error) { return fields(m) }

// handOff is a grant to a waiter when another had unlocked. Both are indexes of bars.
type handOff struct{ From, To int }

func (h handOff) MarshalJSON() ([]byte, error) { return fields(h) }

// fault is what was done to one lane.
type fault struct {
	Lane, Row int
	From, To  at
	Kind      string
	Forgets   bool
	On        []string
	Text      string
}

func (f fault) MarshalJSON() ([]byte, error) { return fields(f) }

// violation is what a judge found, and where to show it.
type violation struct {
	Check      string `json:"check"`
	Text       string `json:"text"`
	Unpromised string `json:"unpromised,omitempty"`
	At         at     `json:"at"`
	From       at     `json:"from"`  // of what shows it
	To         at     `json:"to"`    //
	Bars       []int  `json:"bars"`  // that take part in it
	Waits      []int  `json:"waits"` // that do
	Lanes      []int  `json:"lanes"` // that they are in, and others that it names
}
