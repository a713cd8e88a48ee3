package script

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/gomodule/redigo/redis"
)

//go:embed *.lua
var files embed.FS

// script is a Lua script, which carries out one operation. A master that has it runs it for its hash.
type script struct {
	source, sha any // strings, as redigo takes them
}

var acquire, enter = load("acquire.lua"), load("enter.lua")

// verbs says of each verb which script carries it out, and what that means to the node.
var verbs = [...]struct {
	script  *script
	grants  bool // see [Command.Grants]
	repeats bool // see [Command.Repeats]
	vouches bool // see [Command.Vouches]
	guarded int  // which of its ARGV is empty on a guarded master; 0: none
}{
	plain:       {},
	acquiring:   {script: acquire, grants: true, vouches: true},
	asking:      {script: acquire, grants: true, vouches: true},
	registering: {script: acquire, vouches: true},
	releasing:   {script: load("release.lua"), repeats: true, guarded: 2}, // the token
	forcing:     {script: load("force.lua"), guarded: 1},                  // the token
	renewing:    {script: load("renew.lua"), vouches: true, guarded: 2},   // that it heals
	entering:    {script: enter, vouches: true},
	leaving:     {script: enter, repeats: true},
	raising:     {script: load("raise.lua"), vouches: true},
	inspecting:  {script: load("inspect.lua")},
}

// load makes the script of a file.
func load(file string) *script {
	source := text(file)
	sum := sha1.Sum([]byte(source))
	return &script{source: source, sha: hex.EncodeToString(sum[:])}
}

// text returns what masters are sent of a file, with the parts that it includes in their places.
func text(file string) string {
	var text strings.Builder
	write(&text, file)
	return text.String()
}

// write leaves out what a master need not read: comments, indentation and empty lines. No string in a script has
// two dashes.
func write(text *strings.Builder, file string) {
	all, err := files.ReadFile(file)
	if err != nil {
		panic(err) // a file that is embedded is there
	}
	for line := range strings.Lines(string(all)) {
		code, comment, _ := strings.Cut(line, "--")
		if part, ok := strings.CutPrefix(comment, " #include "); ok {
			write(text, strings.TrimSpace(part))
		} else if code = strings.TrimSpace(code); code != "" {
			text.WriteString(withConstants.Replace(code))
			text.WriteByte('\n')
		}
	}
}

// cached are the scripts that a master must have in its cache, each once: every command of a lock is an EVALSHA.
var cached = func() (list []*script) {
	for _, v := range verbs {
		if v.script != nil && !slices.Contains(list, v.script) {
			list = append(list, v.script)
		}
	}
	return list
}()

// Exist asks a master which scripts it has. [Missing] reads the reply.
//
// Cost: one command, some 2 µs of the master's time.
var Exist = func() []any {
	words := []any{"SCRIPT", "EXISTS"}
	for _, s := range cached {
		words = append(words, s.sha)
	}
	return words
}()

// Missing returns the commands that load what a master lacks, which replied this to [Exist]. A master keeps what
// was loaded so until it ends, or somebody flushes its scripts.
//
// Cost: some 5 µs of the master's time for each, and 50 µs for the first client that sends it.
func Missing(reply any) (loads [][]any, err error) {
	has, err := redis.Ints(reply, nil)
	if err != nil || len(has) != len(cached) {
		return nil, unexpected(reply)
	}
	for i, s := range cached {
		if has[i] == 0 {
			loads = append(loads, []any{"SCRIPT", "LOAD", s.source})
		}
	}
	return loads, nil
}
