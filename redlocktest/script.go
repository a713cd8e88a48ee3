package redlocktest

import (
	"bufio"
	"bytes"
	"crypto/sha1"
	"encoding/hex"
	"fmt"
	"io"
	"regexp"

	"github.com/alicebob/miniredis/v2/server"
)

// answers passes a master's answers on, and words the errors of scripts as Redis does.
//
// When a call in a script fails, Redis answers with that call's own error, which begins with
// WRONGTYPE or READONLY, for example. miniredis answers with "ERR Error compiling script", the error
// and a stack trace.
type answers struct {
	w   io.Writer    // nil if answers are dropped
	sha string       // of the script that runs; empty if none does
	buf bytes.Buffer // its answer
}

func (a *answers) Write(p []byte) (int, error) {
	switch {
	case a.w == nil:
		return len(p), nil
	case a.sha != "":
		return a.buf.Write(p)
	}
	return a.w.Write(p)
}

// begin holds back what follows if the command calls a script.
func (a *answers) begin(cmd string, args []string) {
	switch {
	case cmd == "EVAL" && len(args) > 1:
		sum := sha1.Sum([]byte(args[1]))
		a.sha = hex.EncodeToString(sum[:])
	case cmd == "EVALSHA" && len(args) > 1:
		a.sha = args[1]
	}
}

// failure matches miniredis's words for a script that failed at a line.
var failure = regexp.MustCompile(`^-ERR Error compiling script \(new function\): :(\d+): (.*?)\s+stack traceback:`)

// coded matches an error that begins with its kind, as the errors of all commands do.
var coded = regexp.MustCompile(`^[A-Z]+ `)

// caught matches what miniredis puts before an error that the script caught, and then answered with
// as one of several answers.
var caught = regexp.MustCompile(`(?m)^-:\d+: `)

// signed matches the end of errors of the script engine itself.
var signed = regexp.MustCompile(` script: [0-9a-f]{40}, &c\.?$`)

// end passes on what begin held back.
func (a *answers) end() {
	if a.sha == "" {
		return
	}
	answer, sha := a.buf.Bytes(), a.sha
	if m := failure.FindSubmatch(answer); m != nil {
		line, msg := m[1], m[2]
		if engine := signed.ReplaceAll(msg, nil); len(engine) < len(msg) {
			msg = append([]byte("ERR "), engine...)
		} else if !coded.Match(msg) {
			msg = fmt.Appendf(nil, "ERR user_script:%s: %s", line, msg)
		}
		answer = fmt.Appendf(nil, "-%s script: %s, on @user_script:%s.\r\n", msg, sha, line)
	}
	a.sha = ""
	a.Write(caught.ReplaceAll(answer, []byte("-")))
	a.buf.Reset()
}

// discard returns a peer whose answers are dropped.
func discard() *server.Peer { return server.NewPeer(bufio.NewWriter(&answers{})) }
