package docs

import (
	"context"
	"time"

	"example.com/redlock/redlock"
)

var masters []string
