package script

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"regexp"
)

//go:embed *.lua
var files embed.FS

// Script is a Lua script, which carries out one operation. A master that has it runs it for its hash.
type Script struct {
	source, sha any // strings, as redigo takes them
}

// scripts has those of each verb, by mode.
var scripts = func() (of [inspecting + 1][Permit + 1]*Script) {
	acquire := [...]*Script{load("acquire.lua"), load("share.lua"), load("acquireslot.lua")}
	enter := load("enter.lua")
	raise := load("raise.lua")
	of[acquiring], of[registering] = acquire, acquire
	of[releasing] = [...]*Script{load("release.lua"), load("leave.lua"), load("releaseslot.lua")}
	of[forcing] = [...]*Script{Exclusive: load("force.lua"), Permit: load("forceslots.lua")}
	of[renewing] = [...]*Script{load("renew.lua"), load("keep.lua"), load("renewslot.lua")}
	of[entering] = [...]*Script{enter, enter, nil}
	of[leaving] = of[entering]
	of[raising] = [...]*Script{raise, raise, load("raiseslot.lua")}
	of[inspecting] = [...]*Script{Exclusive: load("inspect.lua"), Permit: load("inspectslots.lua")}
	return of
}()

// load makes the script of a file.
func load(file string) *Script {
	text := bare(include(file))
	sum := sha1.Sum([]byte(text))
	return &Script{source: text, sha: hex.EncodeToString(sum[:])}
}

// part is the line that stands for a part of a script.
var part = regexp.MustCompile(`(?m)^ *-- #include (\w+\.lua)\n`)

// include returns the text of a script, with its parts in their places.
func include(file string) string {
	text, err := files.ReadFile(file)
	if err != nil {
		panic(err) // a file that is embedded is there
	}
	return part.ReplaceAllStringFunc(string(text), func(line string) string {
		return include(part.FindStringSubmatch(line)[1])
	})
}

// bare returns the text of a script without what a master need not read: comments, indentation, and
// lines that are empty then. No string in a script has two dashes.
func bare(text string) string {
	return empty.ReplaceAllString(idle.ReplaceAllString(text, ""), "")
}

var (
	idle  = regexp.MustCompile(`(?m)^ +| *--.*$`)
	empty = regexp.MustCompile(`(?m)^\n`)
)
