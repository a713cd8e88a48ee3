package script

import (
	"crypto/sha1"
	"embed"
	"encoding/hex"
	"regexp"
)

//go:embed *.lua
var files embed.FS

// source is the script that all commands share: call.lua with its parts. sha is the hash that
// EVALSHA knows it by. Both are strings, as redigo takes them.
var source, sha = func() (any, any) {
	text := include("call.lua")
	sum := sha1.Sum([]byte(text))
	return text, hex.EncodeToString(sum[:])
}()

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
