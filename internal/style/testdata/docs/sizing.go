package docs

import (
	"context"
	"log/slog"
	"time"

	"example.com/redlock/redlock"
)

var masters []string
