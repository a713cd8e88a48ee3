package docs

import (
	"context"

	"example.com/redlock/redlock"
)

var first, second []string
