package script

import (
	"crypto/sha1"
	_ "embed" // the scripts
	"encoding/hex"
	"strings"
)

//go:embed holder.lua
var holderSource string

//go:embed queue.lua
var queueSource string

//go:embed fence.lua
var fenceSource string

//go:embed forced.lua
var forcedSource string

//go:embed acquire.lua
var acquireSource string

//go:embed enter.lua
var enterSource string

//go:embed raise.lua
var raiseSource string

//go:embed renew.lua
var renewSource string

//go:embed release.lua
var releaseSource string

//go:embed inspect.lua
var inspectSource string

var (
	acquireScript = newScript(acquireSource, decodeAcquire)
	enterScript   = newScript(enterSource, decodeEnter)
	raiseScript   = newScript(raiseSource, decodeRaise)
	renewScript   = newScript(renewSource, decodeRenew)
	releaseScript = newScript(releaseSource, decodeRelease)
	inspectScript = newScript(inspectSource, decodeInspect)
)

// script is a Lua script, the name that EVALSHA knows it by, and the meaning of its
// replies, which the header of the script states.
type script struct {
	source string
	sha    any // a string, as redigo takes it
	decode func(reply any) (Answer, error)
}

func newScript(source string, decode func(any) (Answer, error)) *script {
	source = parts.Replace(source)
	sum := sha1.Sum([]byte(source))
	return &script{source: source, sha: hex.EncodeToString(sum[:]), decode: decode}
}

// parts puts what scripts share in the place that a script has for it: after what comes
// first in most calls, so that they do not pay for it.
var parts = strings.NewReplacer(
	"-- #include holder.lua\n", holderSource,
	"-- #include queue.lua\n", queueSource,
	"-- #include fence.lua\n", fenceSource,
	"-- #include forced.lua\n", forcedSource,
)
