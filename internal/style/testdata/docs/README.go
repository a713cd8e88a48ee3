package docs

import (
	"context"
	"time"

	"example.com/redlock/redlock"
)

var client *redlock.Client

func render(context.Context) error { return nil }
func work(context.Context) error   { return nil }
