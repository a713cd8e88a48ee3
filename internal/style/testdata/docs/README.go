package docs

import (
	"context"

	"example.com/redlock/redlock"
)

var client *redlock.Client

func ship(context.Context, int64) error { return nil }
