// The command, apart from the library's go.mod so that its users download no parser of flags or of TOML.
module example.com/redlock/cmd/redlock

go 1.26.0

require (
	example.com/redlock v0.0.0
	github.com/alecthomas/kong v1.17.0
	github.com/pelletier/go-toml/v2 v2.4.3
	golang.org/x/sys v0.49.0
)

require (
	github.com/alicebob/miniredis/v2 v2.40.0 // indirect
	github.com/gomodule/redigo v1.9.3 // indirect
	github.com/google/uuid v1.6.0 // indirect
	github.com/hashicorp/errwrap v1.0.0 // indirect
	github.com/hashicorp/go-multierror v1.1.1 // indirect
	github.com/yuin/gopher-lua v1.1.1 // indirect
)

replace example.com/redlock => ../..
