package script

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"strings"
)

//go:embed *.lua
var files embed.FS

// script is a Lua script, which carries out one operation. A master that has it runs it for its hash.
type script struct {
	source, sha any // strings, as redigo takes them
}

// scripts has those of each verb, by mode.
var scripts = func() (of [inspecting + 1][Shared + 1]*script) {
	acquire := [...]*script{load("acquire.lua"), load("share.lua")}
	enter, raise := load("enter.lua"), load("raise.lua")
	of[acquiring], of[registering] = acquire, acquire
	of[releasing] = [...]*script{load("release.lua"), load("leave.lua")}
	of[forcing][Exclusive] = load("force.lua")
	of[renewing] = [...]*script{load("renew.lua"), load("keep.lua")}
	of[entering] = [...]*script{enter, enter}
	of[leaving] = of[entering]
	of[raising] = [...]*script{raise, raise}
	of[inspecting][Exclusive] = load("inspect.lua")
	return of
}()

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
			text.WriteString(code)
			text.WriteByte('\n')
		}
	}
}
